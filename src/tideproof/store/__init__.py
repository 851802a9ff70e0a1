"""Experiments in a database that many processes share.

`place` says what a database must be able to do; `sqlite` and `postgres` do it. `shared` stands between an
`Experiment` and its log: it catches up with what others did, and commits what its threads did, in groups.
`opening` creates and joins; `loading` makes a state of a log, by a snapshot where there is one.
"""
