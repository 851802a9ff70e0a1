"""The trust ledger: every promise played many times over and counted.

Logs: what is played stands in `settings`, how a log is drawn in `logs`, what is counted in `counting`;
`calibrate` runs it all, `promises` judges and `ledger` shows it. Each of the other `parts` is a module.
"""
