"""Formulas by which policies choose the next arm."""
