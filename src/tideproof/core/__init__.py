"""What runs kernels: linking, the layout of their state, targets, compiled programs on disk.

The only place that knows numba. No formula of the model is here; `access` has the products of a small
symmetric matrix, which a CPU and a GPU want done differently.
"""
