"""Compilable functions (kernels) that update estimates after each reward, for several models of shifts."""
