"""Kernels with which policies choose the next arm."""
