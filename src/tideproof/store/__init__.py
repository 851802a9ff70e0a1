"""Experiments in a SQLite or PostgreSQL database that many processes share.

`backend` defines what a database must provide; `sqlite_backend` and `postgres_backend` implement it.
`shared_log` connects an `Experiment` to its event log: it applies the events of other processes and commits
those of this process, several commands in one transaction. `stored_experiments` creates and opens
experiments, `log_replay` computes a state from a snapshot and the events after it. The command line uses
`read_only_view`, `export_import`, `store_backup` and `store_check`.
"""
