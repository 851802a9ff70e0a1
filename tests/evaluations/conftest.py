"""Scripts that need inspect-ai or lm-eval, which are not installed here, are no tests."""

collect_ignore = ["write_inspect_logs.py", "write_lm_eval_logs.py"]
