"""Evaluation logs of language models: reading them from any harness, and what each model costs."""
