"""Checks that the headline of an analysis agrees with its table, intervals and p-values, on real tables.

`python tests/headline_agreement.py 2000` checks as many sub-samples of `real_tables` and prints a summary. A second
number is the first random seed.
"""

from __future__ import annotations

import math
import re
import sys
from collections import Counter
from collections.abc import Iterator
from itertools import combinations, pairwise

import numpy as np

import tideproof as tp
from real_tables import TABLES, RealTable, draw_options, draw_rows
from tideproof.analysis import Fit
from tideproof.analysis.words.analysis_report import ExtraParts, describe_fit
from tideproof.analysis.words.decision_text import IS_BEST
from tideproof.errors import TideproofError

MOST_PAIRS = 15  # of arms whose contrasts are compared with their means
UNTESTED = ("no degrees of freedom", "exact", "too few events", "too few units")
ROUNDING = 1e-6  # p-values this close to 1 minus the confidence level decide nothing


def disagreements(fit: Fit) -> Iterator[str]:
    """Yield each statement about the best arm that contradicts another number of the same analysis."""
    decision, report = fit.decision, describe_fit(fit)
    sign = 1.0 if fit.direction == "maximize" else -1.0
    mean = {row["arm"]: row["mean"] for row in fit.arms}
    shown = [sign * x for x in report.arms["mean"]]
    far = 1e-9 * max(abs(x) for x in shown)
    if any(later > earlier + far for earlier, later in pairwise(shown)):
        yield "the table is not sorted by the means it shows"
    if not (decision.best == fit.best == report.arms["arm"][0] == fit.ranking[0][0]):
        yield "the leader is not the first arm of the table"
    for a, b in list(combinations(fit.ranking[0], 2))[:MOST_PAIRS]:
        gap, difference = fit.contrast(a, b).estimate, mean[a] - mean[b]
        if abs(difference) > far and not math.isnan(gap) and gap * difference < 0.0:
            yield f"the contrast of {a} and {b} is {gap}, the difference of their means {difference}"
    if decision.names_winner != (IS_BEST in fit.verdict) and decision.doubt not in UNTESTED:
        yield "the verdict does not say what was decided"
    if (
        decision.runner_up == decision.best
        or decision.runner_up not in fit.candidates[1:2] + fit.ranking[0][1:2]
    ):
        yield f"{decision.runner_up} is neither the best other candidate nor the second"
    if decision.void or decision.doubt in UNTESTED:
        if decision.names_winner:
            yield "a winner is named in spite of a doubt"
        return
    yield from _disagreements_of_leads(fit, sign)


def _disagreements_of_leads(fit: Fit, sign: float) -> Iterator[str]:
    """Yield contradictions between the decision and the leader's leads over the other arms."""
    decision, excluded = fit.decision, {}
    for row in fit.leads:
        low, high, p = row["low"], row["high"], row["p"]
        end = low if sign > 0.0 else high
        excluded[row["arm"]] = end is not None and sign * end > 0.0
        if p is None or abs(p - (1.0 - fit.confidence)) < ROUNDING:
            continue
        if excluded[row["arm"]] != (p < 1.0 - fit.confidence) and fit.decision.about is not None:
            yield f"p = {p} against {row['arm']}, but the interval is {low} to {high}"
        if (low is not None and low > row["estimate"]) or (high is not None and high < row["estimate"]):
            yield f"the interval {low} to {high} does not contain the lead {row['estimate']}"
    lead, runner_up = fit.lead_contrast, decision.runner_up
    row = next(row for row in fit.leads if row["arm"] == runner_up)
    if (lead.estimate, lead.low, lead.high, lead.p) != (row["estimate"], row["low"], row["high"], row["p"]):
        yield "the lead over the runner-up is not that of the table of leads"
    if decision.names_winner != all(excluded.values()):
        yield f"winner named: {decision.names_winner}; arms excluded by their intervals: {excluded}"
    about_others = decision.names_winner and fit.sure_about != decision.about
    for arm in [] if about_others else decision.candidates[1:]:
        if excluded[arm]:
            yield f"{arm} is a candidate although the interval of the lead over it excludes 0"


def advised_options(fit: Fit) -> dict[str, object]:
    """Return the options of `fit` that the report of an analysis advises, with their values."""
    report = describe_fit(fit, ExtraParts(single_rows=True))
    text = " ".join([report.verdict, *report.warnings, *report.notes])
    text = re.sub(r"variance='[^']*' (does not allow|requires)|\(scale=[^)]*\)", "", text)
    found: dict[str, object] = dict(re.findall(r"\b(variance|scale|robust)='([^']*)'", text))
    found |= {name: float(value) for name, value in re.findall(r"\b(winsorize)=([0-9.]*[0-9])", text)}
    return found | ({"adaptive": True} if "adaptive=True" in text else {})


def check_sub_sample(table: RealTable, seed: int) -> tuple[str, list[str]]:
    """Analyze a random sub-sample; return its standing, or why it was not analyzed, and the contradictions."""
    random = np.random.default_rng([seed, TABLES.index(table)])
    rows, options = draw_rows(table, random), draw_options(table, random)
    if table.n:
        rows = rows.rename(columns={"reward": "successes"})
        options |= {"successes": "successes", "n": "n", "reward": None}
    try:
        fit = tp.fit(rows, arm="arm", environment="environment", **({"reward": "reward"} | options))
    except TideproofError:
        return "not possible", []
    if len(fit.groups) > 1:
        return "not comparable", []
    advised = advised_options(fit)
    said = f"{table.source}, {len(rows)} rows, {options}, seed {seed}"
    standing = fit.decision.standing if fit.decision.doubt is None else str(fit.decision.doubt)
    wrong = list(disagreements(fit))
    used = {"scale": "auto", "variance": "auto", "adaptive": False} | options
    if repeated := [name for name, value in advised.items() if used.get(name) == value]:
        wrong.append(f"options in use are advised: {repeated}")
    try:
        tp.fit(rows, arm="arm", environment="environment", **({"reward": "reward"} | options | advised))
    except TideproofError as error:
        wrong.append(f"the advice {advised} fails: {error}")
    return standing, [f"{said}: {found}" for found in wrong]


def main(count: int, seed: int = 0) -> None:
    """Check as many sub-samples; print contradictions and errors, and how many standings there were."""
    standings: Counter[str] = Counter()
    wrong = analyzed = 0
    while analyzed < count:
        for table in TABLES:
            if analyzed == count:
                break
            try:
                standing, found = check_sub_sample(table, seed)
            except Exception as error:  # any other error is a bug
                standing, found = "error", [f"{table.source}, {table.arm}, seed {seed}: {error!r}"]
            standings[standing] += 1
            analyzed += standing not in ("not possible", "not comparable")
            wrong += bool(found)
            for text in found:
                print(text, flush=True)
        seed += 1
    for standing, number in standings.most_common():
        print(f"{number:6,} {standing}")
    print(f"{analyzed:,} sub-samples of {len(TABLES)} tables analyzed; contradictions or errors in {wrong}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
