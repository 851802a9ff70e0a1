"""Policies: which arm next, and which in the end. One file each; `registry` finds them."""
