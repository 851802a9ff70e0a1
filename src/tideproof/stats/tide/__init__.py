"""The tide of a log without environment labels: its law, its curve, and the arms adjusted for it."""
