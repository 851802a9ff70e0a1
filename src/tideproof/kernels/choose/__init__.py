"""Compilable functions (kernels) with which policies choose the next arm."""
