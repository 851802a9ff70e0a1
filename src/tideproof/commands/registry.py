"""Every command, once, in the order in which `tideproof --help` lists them."""

from __future__ import annotations

from tideproof.commands import (
    analyze,
    backup,
    calibrate,
    demo,
    experiments,
    export,
    fsck,
    import_,
    plan,
    policies,
    reproduce,
    serve,
    show,
    simulate,
)

COMMANDS = (
    demo.COMMAND,
    analyze.COMMAND,
    plan.COMMAND,
    experiments.COMMAND,
    show.COMMAND,
    export.COMMAND,
    import_.COMMAND,
    backup.COMMAND,
    fsck.COMMAND,
    serve.COMMAND,
    simulate.COMMAND,
    reproduce.COMMAND,
    policies.COMMAND,
    calibrate.COMMAND,
)
