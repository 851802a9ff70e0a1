"""A live test: ask which arm to try next, tell what came back."""
