"""The trust ledger: simulations that count how often each statistical promise of tideproof is kept.

`log_settings` lists the kinds of logs, `random_logs` draws them and `outcome_counts` counts right and wrong
answers. `log_runs` runs all settings, `promises` judges the counts and `trust_ledger` writes them down. Each
other part of the ledger is a module of its own, listed in `ledger_parts`.
"""
