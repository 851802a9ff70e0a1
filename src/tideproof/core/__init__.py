"""What runs kernels: linking, the layout of their state, targets, compiled programs on disk.

The only place that knows numba. Nothing here knows a formula.
"""
