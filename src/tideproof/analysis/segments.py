"""Separate analyses of segments of a log, such as countries, and a test whether the segments agree."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Unpack

import numpy as np

from tideproof.analysis.arm_comparisons import About
from tideproof.analysis.fit_result import Fit
from tideproof.analysis.log_analysis import LogSource, read_log
from tideproof.analysis.log_options import (
    AnalysisOptions,
    ColumnOptions,
    ComparisonOptions,
    LogOptions,
    StatisticsOptions,
    check_option_names,
)
from tideproof.analysis.scale_choice import ScaleChoice, resolve_variance, select_scale
from tideproof.analysis.words.decision_text import confidence_text, segments_text
from tideproof.checks import Direction, require_confidence
from tideproof.data.cell_reader import CellReading
from tideproof.errors import InputError, NotComparable
from tideproof.stats.cells import Cells
from tideproof.stats.diagnostics.segment_heterogeneity import Heterogeneity, heterogeneity
from tideproof.stats.looks.look_plan import Looks, without_record
from tideproof.stats.scales.scale_properties import ScaleName
from tideproof.stats.scales.scale_test import ScaleDecision
from tideproof.stats.variance.paired_clusters import FEWEST_CLUSTERS, count_clusters
from tideproof.stats.variance.variance_models import Variance
from tideproof.table import Table, render_notebook_html, to_json_values
from tideproof.text import format_p, quote_if_needed


@dataclass(frozen=True, slots=True, eq=False)
class Segments:
    """One analysis for each segment of a log, such as a country, and a test whether the segments agree.

    Attributes
    ----------
    by : the column that defines the segments.
    fits : the fit of each segment. Their confidence levels are adjusted, so that all statements hold at once.
    pooled : one fit of all segments, in which arms differ by the same amount everywhere and every segment has
        environments of its own.
    left_out : segments without a fit, each with the reason.
    confidence : probability that all statements about winners hold.
    heterogeneity : test of the hypothesis that arms differ by the same amount in all segments. None where it
        cannot be made, and with `anytime` or `looks`, because the test is valid for one inspection only.
    """

    by: str
    fits: dict[Any, Fit]
    pooled: Fit
    left_out: dict[Any, str]
    confidence: float
    heterogeneity: Heterogeneity | None

    @property
    def table(self) -> Table:
        """Table of the best arm and its lead in each segment, one row per segment.

        Columns: segment, n, standing, about (which environments the lead is about), best, runner_up, estimate
        (of the best minus the runner-up), low, high, candidates.
        """
        rows = []
        for segment, fit in self.fits.items():
            decision = fit.decision
            lead = None if decision.best is None else fit.lead_contrast
            rows.append(
                {
                    "segment": segment,
                    "n": int(fit.cells.n.sum()),
                    "standing": decision.standing,
                    "about": fit.sure_about,
                    "best": decision.best,
                    "runner_up": decision.runner_up,
                    "estimate": lead and lead.estimate,
                    "low": lead and lead.low,
                    "high": lead and lead.high,
                    "candidates": ", ".join(map(quote_if_needed, decision.candidates)),
                }
            )
        return Table({name: [row[name] for row in rows] for name in rows[0]})

    @property
    def winners(self) -> dict[Any, list[Any]]:
        """The arms that win in at least one segment of the log, each with the list of these segments."""
        found: dict[Any, list[Any]] = {}
        for segment, fit in self.fits.items():
            if fit.decision.names_winner:
                found.setdefault(fit.best, []).append(segment)
        return found

    @property
    def verdict(self) -> str:
        """One sentence: which arm wins in which segments, and whether arms differ equally in all segments."""
        sure = confidence_text(self.confidence, self.pooled.validity, "for all segments together")
        return f"{segments_text(self.winners, len(self.fits), sure)}{self._alike}"

    @property
    def _alike(self) -> str:
        """End of a sentence: whether arms differ equally in all segments; empty if that was not tested."""
        test = self.heterogeneity
        if test is None:
            return ""
        p = format_p(test.p)
        if test.p < 1.0 - self.confidence:
            return f"; differences between arms depend on the segment (test of equal differences, {p})"
        return (
            f"; no evidence that differences between arms depend on the segment (test of equal differences, "
            f"{p})"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the results of all segments as a dictionary of plain values, for JSON."""
        return {
            "by": self.by,
            "verdict": self.verdict,
            "confidence": self.confidence,
            "segments": self.table.to_dicts(),
            "left_out": [{"segment": label, "why": why} for label, why in self.left_out.items()],
            "heterogeneity": None if self.heterogeneity is None else to_json_values(self.heterogeneity),
            "pooled": self.pooled.verdict,
        }

    def __repr__(self) -> str:
        return "\n".join([self.verdict, repr(self.table), *self._missing()])

    def _repr_html_(self) -> str:
        return render_notebook_html(self.verdict, self.table) + render_notebook_html(
            "\n".join(self._missing())
        )

    def _missing(self) -> list[str]:
        """Return one line for each segment that could not be analyzed, with the reason."""
        return [
            f"not analyzed: {quote_if_needed(segment)}, because {why}"
            for segment, why in self.left_out.items()
        ]


def segments(
    data: Any,
    *,
    by: str,
    arm: str | None = None,
    environment: str | None,
    reward: str | None = None,
    direction: Direction = "maximize",
    confidence: float = 0.95,
    variance: Variance = "auto",
    scale: ScaleChoice = "auto",
    anytime: bool = False,
    adaptive: bool = False,
    winsorize: float | None = None,
    about: About = "similar",
    looks: Looks | None = None,
    **options: Unpack[LogOptions],
) -> Segments:
    """Estimate the arm means of a log separately in each segment, such as each country or device.

    Use it to ask whether the winner is the same everywhere. The statements about all segments hold at once,
    however many segments there are.

    Parameters
    ----------
    data, arm, environment, reward, direction, confidence, variance, scale, anytime, adaptive
        As in `fit`.
    winsorize, about, looks
        As in `fit`, whose other options are accepted, too. Every segment has environments of its own. A log
        of an adaptive run needs `anytime`.
    by
        Column that defines the segments.

    Examples
    --------
    >>> log = {"variant": "ABABABAB", "shop": "nnnnssss", "sales": [1.0, 2.0, 1.2, 2.1, 5.0, 4.0, 5.1, 4.2]}
    >>> segments(log, by="shop", arm="variant", environment=None, reward="sales").winners
    {'B': ['n'], 'A': ['s']}
    """
    check_option_names(segments, options)
    asked = AnalysisOptions(
        columns=ColumnOptions(arm=arm, environment=environment, reward=reward, **options),
        statistics=StatisticsOptions(
            direction=direction,
            confidence=confidence,
            variance=variance,
            scale=scale,
            anytime=anytime,
            adaptive=adaptive,
            winsorize=winsorize,
            about=about,
            looks=looks,
        ),
        comparisons=ComparisonOptions(by=by),
    )
    if isinstance(data, LogSource):
        asked = data.complete_options(asked)
    return fit_segments(read_log(data, asked).found, asked)


def fit_segments(
    found: CellReading, options: AnalysisOptions, direction: Direction | None = None
) -> Segments:
    """Estimate the arm means in each segment of a log, such as each country.

    `direction` replaces the option of that name.

    Confidence levels are adjusted by Sidak's method: with S segments, each is judged at confidence^(1/S), so
    that all statements hold at once with probability `confidence`. If pulls depended on rewards, segments are
    not independent, and Bonferroni's method is used. The heterogeneity test is made only for a single look.

    All segments use the scale that fits the pooled rows, unless the data of a segment contradict it.
    """
    asked, variance, by = options.statistics, options.variance, str(options.comparisons.by)
    direction, scale = direction or asked.direction, asked.scale
    anytime, adaptive = asked.anytime, asked.adaptive
    confidence = require_confidence(asked.confidence)
    apart = {
        segment: why
        for segment, part in found.segments.items()
        if (why := _reason_without_fit(part, variance)) is not None
    }
    used = {segment: part for segment, part in found.segments.items() if segment not in apart}
    if not used:
        raise InputError(f"no segment of {by!r} has two arms to compare")
    each = 1.0 - (1.0 - confidence) / len(used) if adaptive else confidence ** (1.0 / len(used))
    made = partial(
        Fit,
        direction=direction,
        variance=variance,
        anytime=anytime,
        adaptive=adaptive,
        about=asked.about,
        looks=None if asked.looks is None else without_record(asked.looks),
    )
    pooled = made(found.cells, confidence=confidence, scale=scale, about=options.about)
    fits = {}
    for segment, part in used.items():
        seen = part.seen()
        fits[segment] = made(seen, confidence=each, scale=_segment_scale(seen, scale, variance, pooled.scale))
    return Segments(
        by, fits, pooled, apart, confidence, None if pooled.repeated else _test_heterogeneity(used)
    )


def _segment_scale(part: Cells, scale: ScaleChoice, variance: Variance, shared: ScaleName) -> ScaleDecision:
    """Return a segment's scale for comparing arms: that of all rows, unless data of the segment reject it."""
    own = select_scale(part, scale, resolve_variance(part, variance))
    if shared == own.name or shared not in own.possible:
        return own
    return own._replace(name=shared, sentence="The scale is that of all segments together.")


def _reason_without_fit(part: Cells, variance: Variance) -> str | None:
    """Return the reason why the arms of a segment cannot be estimated; None if they can."""
    seen = np.unique(part.arm)
    if seen.size < 2:
        return f"its only arm is {part.arms[seen[0]]}"
    if variance == "paired" and count_clusters(part) < FEWEST_CLUSTERS:
        return f"fewer than {FEWEST_CLUSTERS} items or groups of items compare its arms"
    return None


def _test_heterogeneity(parts: Mapping[Any, Cells]) -> Heterogeneity | None:
    """Test whether the differences between arms are equal in all segments of a log, such as countries.

    Return None if the segments do not contain enough data for the test, or arms that cannot be compared, or
    if rewards of one unit may depend on each other, for which the test does not allow.
    """
    if any(part.units is not None and part.dependent for part in parts.values()):
        return None
    try:
        return heterogeneity(list(parts.values()))
    except (InputError, NotComparable):
        return None
