"""Every formula of a single step, as plain functions over small arrays that the caller allocates.

No input or output, no clock, no allocation, no objects with behaviour: what stands here runs
interpreted, compiled for the CPU and for CUDA from the one source. Formulas over a whole log are in
`stats`.
"""
