"""The lab: replications of policies in worlds, by the thousand, and what they say.

`simulate` makes a `plan` and has it `run`: cut into chunks of replications, which an engine plays on some
executor. In a chunk `kernels.replicate` plays one replication after the other; `kernels.world` draws what
happens. Sums (`tally`) come back and become a `study`.
"""
