"""List of all commands, in the groups and in the order in which `tideproof --help` shows them."""

from __future__ import annotations

from tideproof.commands import (
    analyze,
    backup,
    bench,
    calibrate,
    delete,
    demo,
    evals,
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

GROUPS = {
    "Demonstration": (demo.COMMAND,),
    "Analysis and planning": (analyze.COMMAND, plan.COMMAND, bench.COMMAND, evals.COMMAND),
    "Running experiments": (
        serve.COMMAND,
        experiments.COMMAND,
        show.COMMAND,
        export.COMMAND,
        import_.COMMAND,
        backup.COMMAND,
        delete.COMMAND,
        fsck.COMMAND,
    ),
    "Research": (simulate.COMMAND, policies.COMMAND, reproduce.COMMAND, calibrate.COMMAND),
}

COMMANDS = tuple(command for commands in GROUPS.values() for command in commands)
