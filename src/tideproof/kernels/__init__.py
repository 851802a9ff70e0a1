"""Every formula of a single step, as scalar `@kernel` functions over small arrays that the caller allocates.

No input or output, no clock, no allocation, no objects with behaviour: what stands here runs
interpreted, compiled for the CPU and for CUDA from the one source. Formulas over a whole log are in
`stats`; what a plug-in may use of this is in `tideproof.plugin`.
"""
