"""Policies: which arm next, and which in the end. One file each.

Ours import from their rooms; a stranger's has all that it needs in `tideproof.plugin`, and examples/plugin to
start from.
"""
