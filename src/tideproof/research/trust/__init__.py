"""The trust ledger: simulations that count how often each statistical promise of tideproof is kept.

A promise is a statement such as "a 95 % interval covers the truth in 95 % of logs". `log_settings` lists the
kinds of logs, `random_logs` draws them and `outcome_counts` counts right and wrong answers. `log_runs` runs
all settings, `promised_error_rates` compares the counts with the promises, and `trust_ledger` writes tables
and a page. Each other part of the ledger is a module of its own, listed in `ledger_part_registry`.
"""
