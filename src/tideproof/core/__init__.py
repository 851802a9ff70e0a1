"""Tools that run kernels (functions in a subset of Python) in the interpreter, on a CPU or on a GPU.

It links kernels, lays out their arrays, compiles them and stores compiled programs in a cache.
Only this package imports numba. It contains no formulas of the model. `kernel_array_access` has
products of small symmetric matrices, because a CPU and a GPU need different implementations of them.
"""
