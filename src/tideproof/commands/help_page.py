"""Help page of a command: usage, summary, examples, details, and options in groups, one line each."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Sequence
from typing import Any

from typer.core import TyperCommand

ARGUMENTS = "Arguments"
OPTIONS = "Options"


def command_class(examples: Sequence[str]) -> type[TyperCommand]:
    """Return a typer command class whose help page shows the given examples after the summary."""

    class CommandWithExamples(TyperCommand):
        def format_help(self, ctx: Any, formatter: Any) -> None:
            print_help(self, ctx, examples)

    return CommandWithExamples


def print_help(command: TyperCommand, context: Any, examples: Sequence[str]) -> None:
    """Print the help page of a command, as wide as the terminal."""
    from rich.console import Console
    from rich.padding import Padding
    from rich.panel import Panel
    from rich.table import Table
    from rich.text import Text

    console = Console(highlight=False)
    console.print()
    usage = " ".join([context.command_path, *_usage_words(command)])
    console.print(Padding(Text.assemble("Usage: ", (usage, "bold")), (0, 1)))
    summary, *details = _paragraphs(command.help) or [""]
    console.print(Padding(Text(summary), (1, 1, 0, 1)))
    if examples:
        console.print(Padding(Text("Examples:"), (1, 1, 0, 1)))
    for example in examples:
        console.print(Padding(Text(example, style="cyan"), (0, 1, 0, 3)))
    for paragraph in details:
        space = (0, 1, 0, 3) if paragraph.startswith("* ") else (1, 1, 0, 1)
        console.print(Padding(Text(paragraph), space))
    console.print()
    panels = option_panels(command, context)
    width = max(len(left) for lines in panels.values() for left, _ in lines)
    for title, lines in panels.items():
        grid = Table.grid(padding=(0, 2, 0, 0))
        grid.add_column(width=width, style="bold", no_wrap=True)
        grid.add_column()
        for left, right in lines:
            grid.add_row(Text(left), Text(right))
        console.print(Panel(grid, title=Text(title), title_align="left", border_style="dim"))
    for paragraph in _paragraphs(command.epilog):
        console.print(Padding(Text(paragraph), (1, 1)))


def option_panels(command: TyperCommand, context: Any) -> dict[str, list[tuple[str, str]]]:
    """Return the names and descriptions of a command's options, grouped as on its help page."""
    panels: dict[str, list[tuple[str, str]]] = {}
    for parameter in command.params:
        is_argument = parameter.param_type_name == "argument"
        panel = getattr(parameter, "rich_help_panel", None) or (ARGUMENTS if is_argument else OPTIONS)
        panels.setdefault(panel, []).append(_describe_parameter(parameter))
    last = list(panels)[-1] if set(panels) - {ARGUMENTS} else OPTIONS
    panels.setdefault(last, []).append(("--help", "Show this help and exit."))
    return panels


def _describe_parameter(parameter: Any) -> tuple[str, str]:
    """Return the name and the description of a command-line option for the help page."""
    text = parameter.help or ""
    default = _default_text(parameter)
    description = f"{text} [default: {default}]" if default else text
    if parameter.param_type_name == "argument":
        return parameter.metavar, description
    if parameter.is_flag:
        return parameter.opts[0], description
    return f"{parameter.opts[0]} {parameter.metavar or 'TEXT'}", description


def _default_text(parameter: Any) -> str:
    """Return the default of a command-line option as text for the help page.

    It is empty if the page does not show the default.
    """
    if isinstance(parameter.show_default, str):
        return parameter.show_default
    default = parameter.default
    if default is None or not parameter.show_default or parameter.required or isinstance(default, bool):
        return ""
    if isinstance(default, (list, tuple)):
        return ",".join(map(str, default))
    return str(default)


def _usage_words(command: TyperCommand) -> Iterator[str]:
    """Yield the words of a command's usage line after the name of the command."""
    for parameter in command.params:
        if parameter.param_type_name == "argument":
            yield str(parameter.metavar)
    yield "[OPTIONS]"


def _paragraphs(text: str | None) -> list[str]:
    r"""Return the paragraphs and the list items of a docstring, each as one line.

    >>> _paragraphs("One\nline.\n\nTwo:\n\n* a\n  b\n* c")
    ['One line.', 'Two:', '* a b', '* c']
    """
    parts = re.split(r"\n\n|\n(?=\* )", inspect.cleandoc(text or ""))
    return [" ".join(part.split()) for part in parts if part.strip()]
