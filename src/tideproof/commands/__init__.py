"""The commands of the command line, one file each; `registry.py` lists them.

`suite` is the half of `simulate` that runs the held-out worlds; `command` says what a command is,
`numbers` has options that are numbers.
"""
