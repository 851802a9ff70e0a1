"""A live test: ask which arm to try next, tell what came back.

A told reward goes from `Experiment.tell_many` to `Experiment._take`, from there to the cells of its
environment (for fits) and through `kernels.data.take` to the statistics and the state of the policy (for
choices). `saving` writes all of it; the order in which rewards were told is not kept, so none can be taken
back.
"""
