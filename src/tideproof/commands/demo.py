"""The command `tideproof demo`, which compares raw means with tideproof on simulated prices."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from tideproof.commands.command_definition import Command
from tideproof.commands.option_types import OUTPUT, flag_option, number_option, text_option


def demo_command(
    picture: Annotated[Path | None, text_option("File for the picture.", OUTPUT, "FILE")] = None,
    pace: Annotated[float, number_option("Seconds for which each day is shown.", OUTPUT)] = 0.12,
    hidden: Annotated[bool, flag_option("--hidden", "Analyze a log without environments.", "Test")] = False,
) -> None:
    """Show a simulated test of five prices in which raw means select a wrong price and tideproof does not.

    With --hidden, a finished log without environments is analyzed: the shift is estimated from the time.
    Without --picture, the picture is saved as demo.png, or as hidden.png with --hidden.
    """
    from rich.console import Console

    from tideproof.checks import require_finite
    from tideproof.demos.labelled_prices import picture_info, run_demo
    from tideproof.draw.demo_picture import draw_demo
    from tideproof.files import check_picture_path

    require_finite("pace", pace, 0.0)
    picture = Path("hidden.png" if hidden else "demo.png") if picture is None else picture
    check_picture_path(picture)
    console = Console()
    if hidden:
        from tideproof.demos.unlabelled_prices import run_hidden_demo
        from tideproof.draw.unlabelled_demo_picture import draw_hidden_demo

        draw_hidden_demo(run_hidden_demo(console), picture)
        console.print(f"Picture: {picture}")
        return
    demo_run = run_demo(console, pace=pace)
    draw_demo(picture_info(demo_run), picture)
    console.print(f"Picture: {picture}")


COMMAND = Command(
    "demo",
    demo_command,
    examples=("tideproof demo --picture tide.png", "tideproof demo --hidden"),
    hint="tideproof analyze your_log.csv, or tideproof plan --arms 3 --rate 0.03 --lift 0.1",
)
