"""Policies: the rules that choose the next arm to pull and, at the end, select one arm.

Each built-in policy is one file in `builtin/` and imports directly from the other packages. A policy in
another package imports everything from `tideproof.plugin`; examples/plugin is a template for one.
"""
