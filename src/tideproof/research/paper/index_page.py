"""The web page of the reproduced paper: all figures, claims and simulations in one self-contained file."""

from __future__ import annotations

import html
from base64 import b64encode
from importlib.resources import files
from pathlib import Path
from typing import Any

from tideproof.draw.colour_palette import css
from tideproof.research.paper.claim_verdicts import ClaimPart, ClaimVerdict
from tideproof.research.paper.claims_ledger import (
    RULES,
    RULES_HEADER,
    RULES_INTRODUCTION,
    least_favourable,
    summary,
    where_against,
    with_interval,
)
from tideproof.research.paper.figure_entries import PICTURES, PaperFigure
from tideproof.research.paper.panels import Panel

_SIGNS = {"holds": "●", "holds in part": "◐", "does not hold": "○", "not decided": "?"}


def index_page(
    figures: list[PaperFigure],
    judged: list[ClaimVerdict],
    wanted: list[Panel],
    found: dict[str, Any],
    facts: dict[str, Any],
    folder: Path,
) -> str:
    """Return the web page of the reproduced paper as HTML, with all pictures embedded in it.

    The pictures are read from `folder`.
    """
    style = css() + files("tideproof.research.paper").joinpath("index_page.css").read_text(encoding="utf-8")
    made = " · ".join(f"{name} {value}" for name, value in facts.items())
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>The paper, reproduced</title>
<style>{style}</style>
</head>
<body>
<h1>Identifying the best arm in the presence of global environment shifts, reproduced</h1>
<p class="made">{html.escape(made)}</p>
<p class="sum">{html.escape(summary(judged))}.</p>
<h2>Claims</h2>
{"".join(_claim(each) for each in judged)}
{_rules()}
<h2>Figures</h2>
{"".join(_figure(each, folder) for each in figures)}
<h2>How it was made</h2>
<p class="made">{sum(found[panel.name].made["seconds"] for panel in wanted):,.0f} s of simulation in all.</p>
{_panels(wanted, found)}
</body>
</html>
"""


def _rules() -> str:
    """Return HTML of a collapsible table with the rules by which claims of a paper are judged."""
    head = "".join(f"<th>{name}</th>" for name in RULES_HEADER)
    rows = "".join(f"<tr>{''.join(f'<td>{html.escape(cell)}</td>' for cell in rule)}</tr>" for rule in RULES)
    return (
        f"<details><summary>How claims are judged</summary><p>{html.escape(RULES_INTRODUCTION)}</p>"
        f'<div class="scroll"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div></details>"
    )


def _claim(each: ClaimVerdict) -> str:
    claim, verdict = each.claim, each.verdict
    names = (
        "part",
        "outcome",
        "for",
        "against",
        "open",
        "least favourable comparison",
        "comparisons against the claim",
    )
    head = "".join(f"<th>{name}</th>" for name in names)
    sign = f'<span class="verdict {verdict.replace(" ", "-")}">{_SIGNS[verdict]} {verdict}</span>'
    said = f"{html.escape(claim.says)} <small>({html.escape(claim.place)})</small>"
    how = (
        f"Criterion: {claim.how} Confidence level of each interval: {100 * each.level:.6g} %. "
        f"Simulations: {', '.join(claim.needs)}."
        " All comparisons are in claims.csv."
    )
    return (
        f'<details class="claim" id="{claim.name}"><summary>{sign} {said}</summary>'
        f"<p><b>{claim.name}.</b> {html.escape(how)}</p>"
        f'<div class="scroll"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(_part(part) for part in each.parts)}</tbody></table></div></details>"
    )


def _part(part: ClaimPart) -> str:
    every = "\n".join(
        f"{one.where}: {with_interval(one.measured)} {part.says(one)}" for one in part.comparisons
    )
    cells = (part.what, part.outcome, *part.counts.values(), least_favourable(part), where_against(part))
    return f'<tr title="{html.escape(every)}">' + "".join(map(_cell, cells)) + "</tr>"


def _cell(content: object) -> str:
    return f"<td>{html.escape(str(content))}</td>"


def _figure(figure: PaperFigure, folder: Path) -> str:
    picture = b64encode((folder / f"{figure.name}.svg").read_bytes()).decode("ascii")
    links = ", ".join(f'<a href="{figure.name}.{kind}">{kind.upper()}</a>' for kind in ("csv", *PICTURES))
    width = ' class="narrow"' if figure.narrow else ""
    return (
        f'<figure id="{figure.name}"{width}><h3>{html.escape(figure.name)}: {html.escape(figure.title)}</h3>'
        f'<img alt="{html.escape(figure.title)}" src="data:image/svg+xml;base64,{picture}">'
        f"<figcaption>{html.escape(figure.caption)} Simulations: {html.escape(', '.join(figure.needs))}. "
        f"Files: {links}.</figcaption></figure>"
    )


def _panels(wanted: list[Panel], found: dict[str, Any]) -> str:
    rows = []
    for panel in wanted:
        study, world = found[panel.name], panel.world
        policies = ", ".join(f"{recipe.label} = {_recipe(recipe)}" for recipe in study.recipes)
        budgets = (
            f"{panel.budgets[0]} to {panel.budgets[-1]}"
            if len(panel.budgets) > 1
            else f"≤ {panel.budgets[0]}"
        )
        cells = (
            panel.name,
            f"means {', '.join(f'{mean:g}' for mean in world.means)}; lengths {world.lengths}; "
            f"{world.shifts}",
            policies,
            budgets,
            f"{study.replications:,}",
            study.seed,
            f"{study.made['seconds']:.1f}",
        )
        rows.append(f"<tr>{''.join(map(_cell, cells))}</tr>")
    head = "".join(
        f"<th>{name}</th>"
        for name in ("panel", "world", "policies", "budgets", "replications", "seed", "seconds")
    )
    body = f"<thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody>"
    return f'<div class="scroll"><table class="panels">{body}</table></div>'


def _recipe(recipe: Any) -> str:
    options = "".join(f", {name}={value!r}" for name, value in recipe.options.items())
    return f"{recipe.name}{options}"
