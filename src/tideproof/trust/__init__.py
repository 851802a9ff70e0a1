"""The trust ledger: every promise about logs, played many times over and counted.

What is played stands in `settings`, how a log is drawn in `logs`, what is counted in `counting`; `calibrate`
runs it all, `promises` judges and `ledger` shows it.
"""
