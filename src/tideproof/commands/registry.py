"""Every command, once, in the order in which `tideproof --help` lists them."""

from __future__ import annotations

from tideproof.commands import analyze, calibrate, demo, plan, policies, reproduce, serve, simulate

COMMANDS = (
    demo.COMMAND,
    analyze.COMMAND,
    plan.COMMAND,
    serve.COMMAND,
    simulate.COMMAND,
    reproduce.COMMAND,
    policies.COMMAND,
    calibrate.COMMAND,
)
