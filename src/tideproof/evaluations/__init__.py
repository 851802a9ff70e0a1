"""Evaluation logs of language models: read them from any tool, find the best model, and compare costs."""
