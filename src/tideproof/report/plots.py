"""Charts of an analysis of a log or of a live experiment, for notebooks and web pages.

`fit.plot()` and `run.plot()` return them.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tideproof.analysis import Fit
from tideproof.analysis.words.analysis_report import FitReport, describe_fit
from tideproof.analysis.words.decision_text import leader_text
from tideproof.core.kernel_state_arrays import Floats, Ints
from tideproof.draw.fit_charts import ArmInfo, draw_arms
from tideproof.draw.lead_over_time import draw_lead
from tideproof.draw.svg_elements import Axis
from tideproof.draw.svg_picture import Picture
from tideproof.draw.traffic_shares import draw_shares
from tideproof.report.hidden_tide_report import OrderedRewards
from tideproof.report.html_report import Card, cards
from tideproof.report.lead_history import lead_axis, lead_info, shares_info
from tideproof.stats.best.multiple_comparisons import critical_deviate

if TYPE_CHECKING:
    from tideproof.experiment.state.hidden_tide_fit import TideFit


def fit_picture(fit: Fit) -> Picture:
    """Return the charts of a log's analysis as one picture."""
    analysis = describe_fit(fit)
    return Picture(analysis.verdict, list(cards(analysis)))


def run_picture(fit: Fit, said: str) -> Picture:
    """Return the charts of a live experiment as one picture with the given title."""
    return Picture(said, fit_cards(describe_fit(fit)))


def tide_picture(fit: TideFit, rewards: tuple[Ints, Floats], said: str) -> Picture:
    """Return the chart of a live experiment without environments: current estimates and raw means of arms.

    `rewards` are the rewards in the order of their pulls, and the index of the arm of each.
    """
    raw = OrderedRewards(*rewards).raw_means(len(fit.names)).tolist()
    z = critical_deviate(fit.confidence, len(fit.names), adaptive=False, picked=False)
    unsure = not fit.degrees_of_freedom or fit.exact
    arms = []
    for i, arm in enumerate(fit.names):
        if fit.counts[i]:
            now, half = float(fit.now[i]), z * math.sqrt(max(float(fit.covariance[i, i]), 0.0))
            interval = None if unsure else (now - half, now + half)
            arms.append(ArmInfo(str(arm), now, interval, raw[i], arm == fit.best))
    words = (
        "The dot is the current mean of an arm, including the current shift; the bar is its confidence "
        "interval. The cross is its raw mean. The leading arm is green."
    )
    return Picture(said, [Card("Current means of the arms", words, draw_arms(arms, Axis("reward")))])


def fit_cards(analysis: FitReport) -> list[Card]:
    """Return the charts of a log's analysis: the history of the lead, then the charts of the report."""
    fit, found = analysis.fit, []
    lead = lead_info(fit) if analysis.standing != "not_comparable" else None
    if lead is not None:
        words = (
            f"The lead of {lead.best} over {lead.rival} after each environment. Red: by raw means, which "
            f"include the shifts; blue: by adjusted means. Below the dashed line, {leader_text(lead.rival)}."
        )
        found.append(Card("The lead over time", words, draw_lead(lead.leads, lead_axis(fit, lead))))
    arms, *others = cards(analysis)
    found.append(arms)
    found += others[:1]
    if shares := shares_info(fit.cells):
        words = "Share of each arm in the rewards of each environment."
        found.append(Card("Shares", words, draw_shares(shares.environments, shares.arms, shares.shares)))
    return found + others[1:]
