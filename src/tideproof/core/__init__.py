"""Machinery that runs kernels: linking, array layouts, CPU and GPU compilation, a cache of compiled programs.

Only this package imports numba. It contains no formulas of the model. `array_access` has products of small
symmetric matrices, because a CPU and a GPU need different implementations of them.
"""
