"""Live experiments: ask which arm to try next, tell its reward, and get a recommendation.

`experiment.Experiment` checks each call and turns it into an event record (`events`). The state (`state`)
applies each event to the book of pulls and to the statistics of the policy. `snapshots` writes events and
state to files, and `stopping` decides whether an experiment may stop early. Methods that read an experiment
(`queries`) copy what they need under the lock and compute outside of it.
"""
