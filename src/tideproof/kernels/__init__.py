"""Formulas for one pull or reward at a time, as `@kernel` functions that also compile for CPUs and GPUs.

The functions work on small arrays that the caller allocates.

Kernels have no input or output, no clock, no memory allocation and no objects with behaviour. So the same
source runs interpreted, compiled for a CPU and compiled for a GPU. Formulas for a complete log are in
`stats`; `tideproof.plugin` lists the kernels that a plug-in may use.
"""
