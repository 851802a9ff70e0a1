"""Tables and Markdown page of the trust ledger, which compare error counts with tideproof's promises."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from tideproof.files import write_text_atomically
from tideproof.research.trust.log_runs import CalibrationCounts
from tideproof.research.trust.log_settings import Setting
from tideproof.research.trust.outcome_counts import OutcomeCount, best_arms, compared_arms
from tideproof.research.trust.promised_error_rates import detectable_rate, power_ratio, promises
from tideproof.table import Table
from tideproof.text import format_count

LEGEND = """\
Each row describes one kind of simulated log: *conversions 0.5, 2 arms x 20 rewards, 3 environments, even
traffic, no shifts, equal arms* are logs of conversions at a rate of 0.5, with two arms, about 20 rewards for
each of them, in 3 environments, with even shares of the traffic. Shifts add to rewards, multiply them or
change odds, by a typical amount. *Last arm +0.2*: the last arm is better by this
([all kinds of logs](../trust.md#what-is-drawn)).

| column | logs in which, in percent | at most |
| --- | --- | --- |
| best arm excluded (%) | the best arm was not among the candidates | 5 |
| false winner (%) | an arm was named that is not the best | 5 |
| interval missed the lift (%) | the true lift was outside the confidence interval | 5 |
| too few events with 30 of each arm (%) | "too few events" was the answer although every arm had 30 | 10 |
| too few events (%) | "too few events" was the answer, for any number of events | |
| best arm named (%) | the best arm was named; a dash where arms are equal | |
| scale chosen most often | not a percentage: the scale that was chosen most often | |

A `!` would mark a promise that was found to be broken. The second table compares the power of tideproof with
two arms with that of a well-known reference test."""

# Descriptions of the fields of a setting. The fields themselves seed the random numbers and must not change.
_REWARDS = {
    "clumps": "overdispersed counts",
    "fortunes": "heavy-tailed money",
    "seconds": "durations",
    "unlike": "lognormal, unequal tails",
    "uneven": "normal, unequal noise",
}
_TRAFFIC = {
    "even": "even traffic",
    "uneven": "uneven traffic",
    "drifting": "drifting traffic",
    "wild": "random traffic",
    "threes": "three arms at a time",
    "relay": "two arms at a time",
}
_SHIFTS = {
    "none": "no shifts",
    "adds": "additive shifts",
    "multiplies": "multiplicative shifts",
    "odds": "shifts of odds",
}
_TRUTHS = {
    "equal": "equal arms",
    "first": "first arm",
    "last": "last arm",
    "steps": "lifts in steps up to",
    "near": "two arms near the top",
    "low-end": "arm with the lowest shifts",
    "high-end": "arm with the highest shifts",
}

# The headers of the promises in tables that people read; the CSV files use the names of the promises.
_HEADERS = {
    "best excluded": "best arm excluded (%)",
    "false winner": "false winner (%)",
    "lift missed": "interval missed the lift (%)",
    "too few events": "too few events with 30 of each arm (%)",
}


def broken_promises(played: CalibrationCounts) -> list[str]:
    """Return a description of every statistical promise that simulated logs show to be broken."""
    said = [
        f"{setting.name}: {promise.name} {promise}"
        for setting, tally in played.tallies.items()
        for promise in promises(setting, tally)
        if not promise.kept
    ]
    for setting, pair in played.power_tests.items():
        found = power_ratio(*pair)
        if not found.kept:
            said.append(f"{setting.name}: the power is {found.ratio:.3f} times that of the reference test")
    return said


def table(played: CalibrationCounts) -> Table:
    """Return the counts of right and wrong conclusions as a table with one row for each kind of log."""
    return Table(_columns([_row(setting, tally) for setting, tally in played.tallies.items()]))


def power_table(played: CalibrationCounts) -> Table:
    """Return a table of tideproof's statistical power relative to reference tests, by kind of log.

    All of these logs have two arms.
    """
    rows = [setting._asdict() | power_ratio(*pair)._asdict() for setting, pair in played.power_tests.items()]
    return Table(_columns(rows))


def _row(setting: Setting, tally: OutcomeCount) -> dict[str, object]:
    row: dict[str, object] = setting._asdict() | {"logs": tally.logs}
    for promise in promises(setting, tally):
        low, high = promise.interval
        key = promise.name.replace(" ", "_")
        row |= {key: promise.share, f"{key}_low": low, f"{key}_high": high, f"{key}_kept": promise.kept}
    seen = compared_arms(setting.arms)
    worst = seen[int(np.argmax((tally.below + tally.above)[seen]))]
    return row | {
        "too_few_at_all": tally.too_few_at_all / tally.logs,
        "eventful": tally.eventful / tally.logs,
        "found": tally.winner / tally.logs,
        "below": int(tally.below[worst]) / tally.logs,
        "above": int(tally.above[worst]) / tally.logs,
        "limited": int(tally.limited[seen].min()) / tally.logs,
        **{scale: tally.scales[scale] / tally.logs for scale in ("difference", "ratio", "odds", "log")},
    }


def _columns(rows: Sequence[dict[str, object]]) -> dict[str, list[object]]:
    return {name: [row[name] for row in rows] for name in rows[0]} if rows else {}


def display_tables(played: CalibrationCounts) -> Iterator[dict[str, list[str]]]:
    """Yield two tables as columns of text: error rates next to promises, and ratios of statistical power."""
    if played.tallies:
        rows: list[dict[str, object]] = []
        for setting, tally in played.tallies.items():
            kept = {_HEADERS[promise.name]: str(promise) for promise in promises(setting, tally)}
            scale = max(tally.scales, key=lambda name: tally.scales[name])
            found = (
                f"{100 * tally.winner / tally.logs:.0f}" if best_arms(setting).size == 1 else "\N{EN DASH}"
            )
            silent = f"{100 * tally.too_few_at_all / tally.logs:.0f}"
            rows.append(
                {
                    "log": _describe(setting),
                    **kept,
                    "too few events (%)": silent,
                    "best arm named (%)": found,
                    "scale chosen most often": scale,
                }
            )
        yield {name: [str(cell) for cell in cells] for name, cells in _columns(rows).items()}
    if played.power_tests:
        rows = []
        for setting, pair in played.power_tests.items():
            s = power_ratio(*pair)
            rows.append(
                {
                    "log of two arms": _describe(setting),
                    "best arm named (%)": f"{100 * s.ours:.1f}",
                    "reference test (%)": f"{100 * s.theirs:.1f}",
                    "ratio": f"{s.ratio:.3f} ({s.low:.3f}\N{EN DASH}{s.high:.3f}){'' if s.kept else ' !'}",
                    "ratio at equal significance level": f"{s.at_equal_size:.3f}",
                    "false winners, equal arms (%)": f"{100 * s.our_size:.1f}",
                    "reference test, equal arms (%)": f"{100 * s.their_size:.1f}",
                }
            )
        yield {name: [str(cell) for cell in cells] for name, cells in _columns(rows).items()}


def write_ledger(played: CalibrationCounts, folder: Path) -> list[Path]:
    """Write the trust ledger (a page and CSV files) to an existing folder and return the written paths."""
    written = [folder / "ledger.md"]
    for name, found in (("logs.csv", table(played)), ("power.csv", power_table(played))):
        if len(found):
            written.append(folder / name)
            found.to_csv(written[-1])
    files = " and ".join(f"[{path.name}]({path.name})" for path in written[1:])
    page = [f"# {title(played)}", "", f"**{verdict(played)}**", ""]
    page += [
        f"Written by `tideproof calibrate`; [what it means](../trust.md). All counts: {files}.",
        "",
        LEGEND,
    ]
    for columns in display_tables(played):
        page += ["", _markdown(columns)]
    write_text_atomically(written[0], "\n".join([*page, ""]))
    return written


def verdict(played: CalibrationCounts) -> str:
    """Return sentences on how many kinds of simulated logs show a broken promise.

    They also say which observed error rates break a promise.
    """
    count = len(played.tallies) + len(played.power_tests)
    failed = len({said.split(":")[0] for said in broken_promises(played)})
    least = detectable_rate(played.logs)
    seen = (
        "no observed error rate counts as above 5 %"
        if least > 1.0
        else f"only observed error rates of {100 * least:.2f} % or more count as above 5 %"
    )
    return (
        f"Promises were broken in {failed} of {format_count(count, 'setting')}. "
        f"With {format_count(played.logs, 'log')}, {seen}."
    )


def title(played: CalibrationCounts) -> str:
    """Return the title of the trust ledger, with the number of simulated logs."""
    return (
        f"The trust ledger: {format_count(played.logs, 'log')} of each setting; "
        "percentages with exact 95 % confidence intervals"
    )


def _describe(s: Setting) -> str:
    """Describe a kind of simulated log in one line of text."""
    shifts = _SHIFTS[s.tide] + ("" if s.tide == "none" else f" {s.swell:g}")
    truth = _TRUTHS[s.truth] + ("" if s.truth == "equal" else f" +{s.lift:g}")
    rewards = _REWARDS.get(s.rewards, s.rewards) + ("" if s.level == 0.0 else f" {s.level:g}")
    size = f"{s.arms} arms x {s.pulls:,} rewards, {s.environments} environments"
    return f"{rewards}, {size}, {_TRAFFIC[s.allocation]}, {shifts}, {truth}"


def _markdown(columns: dict[str, list[str]]) -> str:
    sides = ["---", *["---:"] * (len(columns) - 1)]
    lines = [list(columns), sides, *map(list, zip(*columns.values(), strict=True))]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
