"""The commands of the command line `tideproof`, one file each; `command_list.py` lists them all.

`command_definition.py` defines the class `Command`. `option_types.py` parses options, and
`simulate_suite.py` is the part of `simulate` that handles `--suite`.
"""
