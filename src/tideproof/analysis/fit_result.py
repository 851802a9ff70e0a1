"""The class `Fit`: adjusted means of arms, confidence intervals, candidates for the best arm, diagnostics.

It attaches labels to numbers: estimates and variances come from `stats`, the decision from
`arm_comparisons`.
"""

from __future__ import annotations

import copy
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from tideproof import checks
from tideproof.analysis.alarms import failed_additivity, voiding_alarm
from tideproof.analysis.arm_comparisons import (
    NOT_COMPARABLE,
    UNTESTED,
    About,
    Contrast,
    Decision,
    Doubt,
    RepeatedBounds,
    anytime_critical_values,
    best_probabilities,
    compare_arms,
    compare_leader,
    compare_with_group_best,
    decide,
    deciding_critical_values,
    find_beaten,
    find_candidates,
    finite_or_none,
    planned_critical_values,
)
from tideproof.analysis.arm_lookup import find_arm, match_arm
from tideproof.analysis.fit_json import fit_to_dict
from tideproof.analysis.interaction_summary import InteractionSummary, summarize_interactions
from tideproof.analysis.log_without_environments import TideEstimate
from tideproof.analysis.outlier_exclusion import ExcludedCells, Robust, exclude_outlying_cells
from tideproof.analysis.scale_choice import (
    ScaleChoice,
    ScaleUnion,
    fit_on_scale,
    quick_tests,
    resolve_variance,
    select_scale,
)
from tideproof.analysis.scales.scale_protocol import ScaleFit
from tideproof.analysis.time_bins import TimeBins
from tideproof.analysis.within_label_test import WithinLabelTest
from tideproof.analysis.words.decision_text import groups_text, validity_text
from tideproof.analysis.words.fit_text import summary, verdict
from tideproof.checks import Direction, Prior
from tideproof.core.kernel_state_arrays import Floats
from tideproof.data import cells_from_arrays
from tideproof.draw.svg_picture import Picture, save_if_requested
from tideproof.errors import InputError, NotComparable
from tideproof.stats.best.anytime_bounds import AnytimeBounds, mixture_variance
from tideproof.stats.best.multiple_comparisons import allowance
from tideproof.stats.best.student_inference import student_intervals
from tideproof.stats.cells import Cells, group_members
from tideproof.stats.diagnostics.additivity_test import Additivity
from tideproof.stats.diagnostics.sample_ratio import SampleRatio, sample_ratio
from tideproof.stats.looks.look_bounds import LookBounds
from tideproof.stats.looks.look_plan import Looks, check_looks
from tideproof.stats.looks.past_information import pair_errors, past_information
from tideproof.stats.pairs.between_environment_pairs import (
    environments_needed,
    for_similar_environments,
    has_enough_environments,
)
from tideproof.stats.pairs.unit_pairs import UnitPairTests
from tideproof.stats.scales.scale_properties import SCALE_PROPERTIES, ScaleName
from tideproof.stats.scales.scale_test import ScaleDecision
from tideproof.stats.solve.adjusted_means import influence_table, period_mean, raw_mean
from tideproof.stats.variance.cell_variances import Spread, is_exact
from tideproof.stats.variance.variance_models import ABOUT_SIMILAR, Estimate, Variance, sigma2
from tideproof.table import Table, render_notebook_html
from tideproof.text import join_labels


class Fit:
    """Estimated arm means and environment shifts; arms are compared only if shared environments connect them.

    Parameters
    ----------
    cells
        The observed data, from `tideproof.data`.
    direction
        Whether a high reward is good ("maximize") or bad ("minimize").
    adaptive
        Whether an adaptive policy chose the pulls. Candidates and the intervals of comparisons then allow for
        it. "auto" measures the noise of each arm by its own rewards alone; and the model "by-arm" pools the
        arms that have too few rewards for a variance of their own.
    confidence
        Confidence level of the intervals.
    variance
        Model of the noise, as in `fit`.
    scale
        How arms are compared, as in `fit`; or the `choice` of another fit, which is then used unchanged.
    prior
        Prior distribution behind `p_best`, as in `fit`.
    anytime
        Whether candidates, comparisons and contrasts hold at all looks together, as in `fit`.
    looks
        Planned looks at which they hold together, as in `fit`; None without a plan.
    tide
        Estimate of a hidden tide, for a log without environments; else None.
    bins
        Time bins that serve as environments, for a log without environments; else None.
    inside
        Test whether the tide moves inside the environments; None if it was not made.
    robust
        Whether outlying cells are excluded, as in `fit`.
    about
        Which environments the comparisons are about, as in `fit`.
    winsorized
        Whether large rewards were winsorized before.
    notes
        Sentences on rows that were left out, which the report repeats.

    Attributes
    ----------
    notes : sentences on rows that were left out, such as samples with errors.
    left_out : the cells that `robust` excluded; None if that was not requested.
    tide, bins : the same as the parameters, see `TideEstimate` and `TimeBins`.
    inside : test whether the tide moves inside the environments; None if it was not made.
    scale : "difference", "ratio", "odds" or "log".
    lifts : whether contrasts are lifts (0.12 for 12 %), as on all scales except that of differences.
    choice : why this scale is used, with the tests behind the choice.
    degrees_of_freedom : of the noise: rewards minus arms minus environments plus groups. With 0,
        results that need the size of the noise are None.
    sigma : standard deviation of the noise.
    groups : lists of arms; only arms of the same list can be compared.
    about, about_requested : which environments the comparisons are about, and were requested to be about.
        With few environments and with some models only statements about these are possible.
    looks : planned looks; None without a plan.
    uninformative : number of environments with a single arm. They are allowed, but contribute nothing to
        comparisons.
    """

    def __init__(
        self,
        cells: Cells,
        *,
        direction: Direction = "maximize",
        adaptive: bool = False,
        confidence: float = 0.95,
        variance: Variance = "auto",
        scale: ScaleChoice | ScaleDecision = "auto",
        prior: Prior = "exchangeable",
        anytime: bool = False,
        tide: TideEstimate | None = None,
        bins: TimeBins | None = None,
        inside: WithinLabelTest | None = None,
        robust: Robust | None = None,
        about: About = "similar",
        winsorized: bool = False,
        looks: Looks | None = None,
        notes: Sequence[str] = (),
    ) -> None:
        self.winsorized, self.notes = winsorized, tuple(notes)
        self.looks = None if looks is None else check_looks(looks, anytime, adaptive)
        self.tide, self.bins, self.inside = tide, bins, inside
        self.left_out: ExcludedCells | None = None
        if robust is not None:
            self.left_out = exclude_outlying_cells(cells, robust, scale, tide is not None)
            cells = self.left_out.cells
        self.anytime = anytime
        self.cells = cells
        self.direction = checks.require_direction(direction)
        self.adaptive = adaptive
        self.confidence = checks.require_confidence(confidence)
        self.prior = checks.require_prior(prior)
        self._sign = 1.0 if direction == "maximize" else -1.0
        self._on: ScaleFit
        if tide is None:
            self.variance = resolve_variance(cells, variance)
            self._solution = cells.solution
            self.choice = select_scale(cells, scale, self.variance)
            self.degrees_of_freedom, self._sigma = self._solution.freedom, math.sqrt(sigma2(self._solution))
            self._on = fit_on_scale(self.choice.name, cells, self._solution, self.variance, adaptive)
        else:
            self.variance, self.choice = "common", tide.choice
            self.degrees_of_freedom, self._sigma = tide.degrees_of_freedom, tide.sigma
            self._on = tide.on
        self.scale: ScaleName = self.choice.name
        self._estimate, self.lifts = self._on.found, SCALE_PROPERTIES[self.scale].lifts
        mixed = self._estimate.mixed
        if mixed is not None and self.repeated:
            asked = "anytime=True" if anytime else "looks="
            raise InputError(f"{asked} is not supported with variance={variance!r}; use variance='auto'")
        self.sigma = finite_or_none(self._sigma if mixed is None or mixed.none else mixed.typical()[1])
        self._groups = [group for _, group in group_members(self._estimate.component)]
        self.groups = [[cells.arms[i] for i in group] for group in self._groups]
        alone = int(np.count_nonzero(cells.arms_seen == 1))
        self.about: About = self._possible_scope(about, variance)
        self.about_requested: About = about
        self._all_scales: dict[About, Estimate] = {}
        self._contrasts: dict[tuple[int, int, float | None, bool, About], Contrast] = {}
        labelled = (
            cells.factors is None and tide is None
        )  # with two factors, an environment is a pair of levels
        self.uninformative = alone if labelled else 0

    @classmethod
    def from_arrays(
        cls,
        arm: Iterable[Any],
        environment: Iterable[Any],
        reward: Iterable[Any],
        *,
        direction: Direction = "maximize",
        adaptive: bool = False,
        confidence: float = 0.95,
        variance: Variance = "auto",
        scale: ScaleChoice = "auto",
        prior: Prior = "exchangeable",
        anytime: bool = False,
        robust: Robust | None = None,
        about: About = "similar",
        looks: Looks | None = None,
    ) -> Fit:
        """Estimate the arm means from three sequences: arm, environment and reward of each observation."""
        found = cells_from_arrays(arm, environment, reward, logs=scale == "log")
        return cls(
            found,
            direction=direction,
            adaptive=adaptive,
            confidence=confidence,
            variance=variance,
            scale=scale,
            prior=prior,
            anytime=anytime,
            robust=robust,
            about=about,
            looks=looks,
        )

    @property
    def repeated(self) -> bool:
        """Whether comparisons of arms stay valid if a growing log is analyzed several times."""
        return self.anytime or self.looks is not None

    @property
    def validity(self) -> str:
        """Text that says at which analyses of a growing log comparisons hold; empty for one analysis."""
        return validity_text(self.anytime, self.looks)

    def _possible_scope(self, about: About, variance: Variance) -> About:
        """Return which environments the comparisons are about: the requested ones, if that is possible.

        A model with interactions is always about similar environments, the other named models are about
        these. With `variance="auto"` a log with few environments only allows statements about these.
        """
        _check_about(about, variance)
        if self.bins is not None:  # bins are chosen here; what makes them differ may last longer than one
            return "these"
        if variance in ABOUT_SIMILAR:
            return "similar" if has_enough_environments(self.cells, self._estimate) else "these"
        similar = self._similar if about == "similar" else None
        return "similar" if similar is not None and self._is_bounded(similar) else "these"

    def _is_bounded(self, found: Estimate) -> bool:
        """Return whether the confidence intervals are finite; anytime-valid ones need more environments."""
        if not self.anytime:
            return True
        always = AnytimeBounds(mixture_variance(self.scale, self.cells, self._sigma), self.adaptive)
        groups = [group for group in self._groups if group.size > 1]
        return all(
            bool(np.all(np.isfinite(always.with_best(*found.of_group(group), 1.0 - self.confidence))))
            for group in groups
        )

    @cached_property
    def _similar(self) -> Estimate | None:
        """The estimate on the chosen scale that allows for interaction; None if that is impossible."""
        return self._in_similar(self._estimate)

    def _in_similar(self, found: Estimate) -> Estimate | None:
        """Return an estimate that allows for interaction; None if it is impossible or not requested."""
        if self.variance not in ("auto", "by-unit"):
            return found if self.variance in ABOUT_SIMILAR else None
        return for_similar_environments(found)

    @property
    def best(self) -> Any:
        """The arm with the best adjusted mean.

        Raises
        ------
        NotComparable
            If no chain of shared environments connects all arms.
        """
        self._check_comparable()
        return self.ranking[0][0]

    @cached_property
    def ranking(self) -> list[list[Any]]:
        """Groups of arms that can be compared with each other; each group is a list from best to worst.

        Arms are ordered by adjusted mean.
        """
        value = -self._sign * self._estimate.mu
        ranked = (group[np.argsort(value[group], kind="stable")] for group in self._groups)
        return [[self.cells.arms[i] for i in group] for group in ranked]

    @property
    def bridge(self) -> list[Any]:
        """Arms to pull in one common environment to make all arms comparable; empty if they already are."""
        return [group[0] for group in self.ranking] if len(self.groups) > 1 else []

    @cached_property
    def exact(self) -> bool:
        """Whether the model fits all rewards exactly, so that the size of the noise cannot be estimated."""
        if self.variance in ("auto", "paired") and self.cells.binary:  # the noise is known not to be 0
            return bool(np.ptp(self.cells.mean) == 0.0 and self.cells.mean[0] in (0.0, 1.0))
        largest = float(np.abs(self.cells.mean).max())
        return bool(self.degrees_of_freedom) and is_exact(self._sigma, largest)

    @property
    def p_best(self) -> dict[Any, float | None]:
        """Posterior probability of each arm of being the best among the arms comparable with it.

        It is computed from the posterior distribution of the contrasts under `prior` by numerical
        integration, with standard error `p_best_error`. It is None for an arm that shares no environment with
        others, and where the noise is unknown: without degrees of freedom, and if the fit is exact.

        Under the exchangeable prior it is also None for all arms of a group, unless one of them is the best
        with at least 90 % whatever the standard deviation of the arm means is, among the values that the data
        allow (95 % likelihood interval). Otherwise the number would depend on what is assumed about it.
        """
        return {row["arm"]: row["p_best"] for row in self.arms}

    @property
    def p_best_error(self) -> float | None:
        """Largest standard error of the arms' probabilities of being the best, from numerical integration."""
        return finite_or_none(self._chances[1])

    @cached_property
    def _chances(self) -> tuple[Floats, float]:
        """Each arm's probability of being the best, and the largest standard error of these probabilities."""
        if self.exact:
            return np.full(self.cells.K, np.nan), math.nan
        return best_probabilities(self._tested[self.about], self._groups, self._sign, self.prior)

    @cached_property
    def arms(self) -> Table:
        """Table of arms with raw and adjusted means, one row per arm.

        Columns: arm, n, raw_mean (average of the observed rewards), mean (adjusted: as if the arm had run in
        every environment, in proportion to traffic), se, low, high, p_best.
        """
        c, read = self.cells, self._estimate.means_and_shifts
        return Table(
            {
                "arm": c.arms,
                "n": c.counts.astype(np.int64),
                "raw_mean": raw_mean(self._unadjusted),
                "mean": read.mean,
                **self._on.means(self.confidence),
                "p_best": self._chances[0],
            }
        )

    @property
    def _unadjusted(self) -> Cells:
        """The rewards before covariates were removed."""
        return self.cells if self.cells.slope is None else self.cells.slope.unadjusted

    @cached_property
    def averages(self) -> Table:
        """Table of means without adjustment for shifts, and of the biases that shifts cause, one row per arm.

        Columns: arm; mean (adjusted); raw_mean and raw_bias, which is the average shift of the arm's rewards;
        period_mean (the mean over the environments with the arm, weighted by their traffic, which experiment
        platforms report) and period_bias. A bias is what shifts add to that mean. It does not contain the
        effect of covariates.
        """
        c, mean = self.cells, self._estimate.means_and_shifts.mean
        raw, period = raw_mean(self._unadjusted), period_mean(self._unadjusted)
        raw_bias, period_bias = raw_mean(c) - mean, period_mean(c) - mean  # of shifts, not of covariates
        return Table(
            {
                "arm": c.arms,
                "mean": mean,
                "raw_mean": raw,
                "raw_bias": raw_bias,
                "period_mean": period,
                "period_bias": period_bias,
            }
        )

    @cached_property
    def comparisons(self) -> Table:
        """Table that compares each arm with the best other arm, with simultaneous confidence intervals.

        Multiple comparisons with the best (Hsu 1984, 1996): with probability `confidence` all intervals cover
        the true values, and the best arm is among the candidates. Arms are compared inside each connected
        group. With only two arms the tests are two-sided. On the scales of ratios and odds the estimates are
        lifts.

        Columns: arm, estimate (its mean minus that of the best other arm), low, high, candidate (whether the
        data allow it to be the best, on this scale or on another scale that fits the data). If an alarm voids
        the tests of arms (see `Decision`), there are no intervals, and all arms are candidates.
        """
        found = compare_with_group_best(
            self._widest(self.about),
            self._groups,
            self._sign,
            self.confidence,
            self._may,
            self._ever(self.scale),
            adaptive=self.adaptive,
        )
        shown = {name: self._on.shown(getattr(found, name)) for name in ("estimate", "low", "high")}
        candidate = self._may
        if self.decision.void or self.exact:
            shown["low"], shown["high"] = np.full((2, candidate.size), np.nan)
            candidate = np.ones_like(candidate)
        return Table({"arm": self.cells.arms, **shown, "candidate": candidate})

    @property
    def candidates(self) -> list[Any]:
        """The arms that can be the best; with probability `confidence` the truly best arm is among them.

        If an alarm voids the tests of arms (see `Decision`), these are all arms.
        """
        self._check_comparable()
        return list(self.decision.candidates)

    @cached_property
    def _may(self) -> NDArray[np.bool_]:
        """For each arm, whether it may be best on any scale for comparing arms that fits the data."""
        return self._may_be_best(self.about)

    def _may_be_best(self, about: About) -> NDArray[np.bool_]:
        """Return for each arm whether it may be best, on average over these or over similar environments.

        An arm is excluded if another one is better on each scale that fits the data. The leader is the only
        candidate if and only if the intervals of all its leads exclude 0.
        """
        if self.exact:
            return np.ones(self.cells.K, bool)
        others = {
            scale: replace(found, pairs=quick_tests(found)) for scale, found in self._others[about].items()
        }
        scales = {self.scale: self._tested[about], **others}
        asked = self._groups, self._sign, self.confidence
        found = [
            find_candidates(estimate, *asked, self._ever(scale), adaptive=self.adaptive)
            for scale, estimate in scales.items()
        ]
        beaten = find_beaten(self._widest(about), *asked, self._ever(self.scale), adaptive=self.adaptive)
        may: NDArray[np.bool_] = np.any(found, axis=0) & ~beaten
        for group in self._groups:
            if np.count_nonzero(may[group]) == 1:
                may[group] = ~beaten[group]
        return may

    @cached_property
    def _tested(self) -> dict[About, Estimate]:
        """Estimates on the chosen scale, for tests about these and about similar environments."""
        similar = self._similar if self.about == "similar" else None
        return {"these": self._estimate, "similar": self._estimate if similar is None else similar}

    @cached_property
    def _others(self) -> dict[About, dict[ScaleName, Estimate]]:
        """Estimates on every scale of comparison (such as ratios) that fits the data but was not chosen."""
        rest = [scale for scale in self.choice.possible if scale != self.scale]
        if not rest:
            return {"these": {}, "similar": {}}  # always so with a hidden tide, which has no least squares
        asked = self.cells, self._solution, self.variance, self.adaptive
        these = {scale: fit_on_scale(scale, *asked).found for scale in rest}
        if self.about == "these":
            return {"these": these, "similar": these}
        similar = {scale: self._in_similar(found) or found for scale, found in these.items()}
        return {"these": these, "similar": similar}

    def _widest(self, about: About) -> Estimate:
        """Return estimates of the arms, for tests on all scales (such as ratios) that fit the data.

        The estimates themselves are those on the chosen scale. The tests hold on each of these scales.
        """
        if about not in self._all_scales:
            found, others = self._tested[about], list(self._others[about].values())
            if others:
                found = replace(found, pairs=ScaleUnion(self.scale, found, others))
            self._all_scales[about] = found
        return self._all_scales[about]

    @cached_property
    def decision(self) -> Decision:
        """The decision on the best arm, with the reason if no winner can be named."""
        found = self._tested_decision()
        alarm = voiding_alarm(self, found)
        return found if alarm is None else found.with_alarm(alarm, self.ranking[0])

    def with_doubt(self, doubt: Doubt) -> Fit:
        """Return a copy that names no winner, because of an alarm that does not come from the fit."""
        doubted = copy.copy(self)
        for name in ("leads", "comparisons", "interaction"):
            doubted.__dict__.pop(name, None)
        doubted.__dict__["decision"] = self.decision.with_alarm(doubt, self.ranking[0])
        return doubted

    def _tested_decision(self) -> Decision:
        """Return the decision from the tests of arms, whatever alarms say."""
        if len(self.groups) > 1:
            return NOT_COMPARABLE
        may = dict(zip(self.cells.arms, self._may.tolist(), strict=True))
        candidates = [arm for arm in self.ranking[0] if may[arm]]
        best, *others = (self._position(arm) for arm in candidates)
        few = any(not self._estimate.pairs.enough(best, other) for other in others)
        found = decide(self.ranking[0], candidates, self.degrees_of_freedom, self.exact, few)
        found = replace(found, about=self.about)
        if found.doubt == "too few events" and self.unit_tests is not None:
            few_units = any(not self.unit_tests.enough_units(best, other) for other in others)
            return replace(found, doubt="too few units") if few_units else found
        doubtful = found.doubt == "several candidates" and self.about == "similar"
        if doubtful and int(self._may_be_best("these").sum()) == 1:
            return replace(found, doubt="other environments")
        return found

    @property
    def unit_tests(self) -> UnitPairTests | None:
        """Tests of pairs of arms by unit, such as visitor; None if rewards are taken as independent."""
        pairs = self._estimate.pairs
        return pairs if isinstance(pairs, UnitPairTests) else None

    @property
    def sure_about(self) -> About:
        """The environments that the choice of the best arm is about: "these" or others like them."""
        return "these" if self.decision.standing == "winner_on_these" else self.about

    @property
    def narrowest_about(self) -> About:
        """The narrowest set of environments that conclusions may be about under the variance model."""
        return self.about if self.variance in ABOUT_SIMILAR else "these"

    @property
    def environments_to_come(self) -> int | None:
        """Number of further environments that would probably show that the leader is the best in others.

        It assumes that the estimated leads over the other candidates are the true ones. None if the best arm
        of the observed environments is unknown, with `anytime` or `looks`, and if more than 20 times as many
        as observed were needed.
        """
        if self.repeated or self.about == "these":
            return None
        if self.decision.doubt not in ("other environments", "unequal differences"):
            return None
        best, *others = (self._position(arm) for arm in self.decision.candidates)
        found, observed = self._tested[self.about], int(self.cells.compares.sum())
        level = 0.5 + 0.5 * self.confidence if self.cells.K == 2 else self.confidence
        extra = allowance(self.cells.K) if self.adaptive else 0.0
        needed = [
            environments_needed(
                abs(found.pairs.deviate(best, other)),
                found.error_of(best, other)[1],
                observed,
                level,
                self.cells.K - 1,
                extra,
            )
            for other in others
        ]
        return None if None in needed else max(number for number in needed if number is not None)

    @property
    def verdict(self) -> str:
        """Text that names the best arm, its lead, and the confidence level, without a final full stop."""
        return verdict(self)

    def rival(self, arm: Any) -> Any:
        """Return the best other arm that can be compared with `arm`; None if there is no such arm."""
        arm = self.cells.arms[self._position(arm)]
        group = next(group for group in self.ranking if arm in group)
        return next((other for other in group if other != arm), None)

    def lead(self, arm: Any) -> float:
        """Return the smallest z statistic of leads of `arm` over the other arms; positive if it leads all.

        It is about these environments only. All scales (difference, ratio, odds or log) that fit the data are
        used.

        It is 0 with too few events, where the noise is unknown, and where arms cannot be compared.
        """
        i, pairs = self._position(arm), self._widest("these").pairs
        others = np.delete(np.arange(self.cells.K), i)
        few = any(not pairs.enough(i, k) for k in others.tolist())
        if few or not self.degrees_of_freedom or self.exact or len(self.groups) > 1:
            return 0.0
        found = self._sign * pairs.deviates(np.full(others.size, i), others)
        return float(np.nan_to_num(found, nan=0.0).min())

    @cached_property
    def shifts(self) -> Table:
        """Table of the estimated shifts, one row per environment.

        Columns: environment, n, arms (how many were observed), shift (relative to the average over the
        traffic of its group of arms; a difference, or a factor on the scales of ratios and odds), se, low,
        high. For a hidden tide the rows are time segments.
        """
        c, read = self.cells, self._estimate.means_and_shifts
        return Table(
            {
                "environment": c.environments,
                "n": c.sizes.astype(np.int64),
                "arms": c.arms_seen,
                "shift": read.shift,
                **student_intervals(
                    read.shift, read.shift_variance, self._estimate.shift_freedom, self.confidence
                ),
            }
        )

    def contrast(
        self,
        a: Any,
        b: Any,
        *,
        confidence: float | None = None,
        picked: bool = False,
        about: About | None = None,
    ) -> Contrast:
        """Compare two arms: the mean of `a` minus that of `b`, or the lift of `a` over `b`.

        The confidence level of the interval is that of the fit, unless `confidence` is given. The interval is
        for two arms that were chosen in advance; pass `picked=True` if they are the best arm and its
        runner-up. With `anytime` or `looks` it holds at all looks: without `confidence` for all contrasts at
        once, with `confidence` for this contrast alone. `about="these"` makes it a statement about the
        observed environments only.

        Raises
        ------
        NotComparable
            If no chain of shared environments connects the two arms.
        """
        i, k = self._position(a), self._position(b)
        a, b = self.cells.arms[i], self.cells.arms[k]
        if i == k:
            raise InputError(f"a contrast needs two different arms, not {a!r} twice")
        if self._estimate.component[i] != self._estimate.component[k]:
            raise NotComparable(
                f"{join_labels((a, b))} cannot be compared: {groups_text(self.groups, self.bridge)}"
            )
        scope = self.about if about is None else about
        if about is not None:
            # with few environments, a model of interactions is about these, too
            _check_about(about, self.variance if self.about == "similar" else "auto")
            if about == "similar" and self.about == "these":
                raise InputError("about='similar' is not possible: this fit is about these environments only")
        asked = i, k, None if confidence is None else checks.require_confidence(confidence), picked, scope
        if asked not in self._contrasts:  # a report needs the same contrast several times
            always, found = self._ever(self.scale), self._widest(scope)
            critical = anytime_critical_values(
                found, self._groups, (i, k), always, self.confidence, confidence
            ) or planned_critical_values(
                found,
                (i, k),
                self.confidence if confidence is None else confidence,
                adaptive=self.adaptive,
                picked=picked,
            )
            self._contrasts[asked] = compare_arms((a, b), self._on, found, (i, k), critical, self.adaptive)
        return self._contrasts[asked]

    @cached_property
    def leads(self) -> Table:
        """Table of the leader's leads over all other arms, with the simultaneous intervals that decide.

        One arm is named the best if and only if all these intervals exclude 0; then all p-values are below 1
        minus `confidence`. If an arm is the best in these environments only, so are the comparisons about
        these. Columns: arm (the other arm, the best first), estimate (the leader's mean minus that of the
        other arm, or the lift over it), low, high, p. The last three are None if the noise is unknown, if
        there are too few events or units, or if an alarm voids the tests of arms (see `Decision`).

        Raises
        ------
        NotComparable
            If no chain of shared environments connects all arms.
        """
        self._check_comparable()
        found = self._lead_contrasts(self.ranking[0][1:])
        names = ("estimate", "low", "high", "p")
        columns = {name: [getattr(contrast, name) for contrast in found] for name in names}
        return Table({"arm": self.ranking[0][1:], **columns})

    @property
    def lead_contrast(self) -> Contrast:
        """Comparison of the leader with the runner-up, with the interval and the p-value in `leads`.

        Raises
        ------
        NotComparable
            If no chain of shared environments connects all arms.
        """
        self._check_comparable()
        return self._lead_contrasts([self.decision.runner_up])[0]

    def _lead_contrasts(self, others: Sequence[Any]) -> list[Contrast]:
        """Return comparisons of the leader with other arms, with the intervals that decide."""
        decision, found = self.decision, self._widest(self.sure_about)
        i, rest = self._position(decision.best), [self._position(arm) for arm in others]
        critical = None
        if not (decision.void or decision.doubt in UNTESTED):
            asked = self._groups, self._sign, i, rest, self.confidence, self._ever(self.scale)
            critical = deciding_critical_values(found, *asked, adaptive=self.adaptive)
        each = list(zip(others, rest, strict=True))
        return compare_leader((decision.best, i), each, self._on, found, critical, self.adaptive)

    @cached_property
    def _look_bounds(self) -> LookBounds | None:
        """Return confidence bounds of arm differences, valid at all planned analyses; None without a plan."""
        if self.looks is None:
            return None
        return LookBounds(self.looks, past_information(self.looks, self._estimate, self.cells))

    def _ever(self, scale: ScaleName) -> RepeatedBounds | None:
        """Return confidence bounds of arm differences for repeated analyses; None for a single analysis."""
        if not self.anytime:
            return self._look_bounds
        return AnytimeBounds(mixture_variance(scale, self.cells, self._sigma), self.adaptive)

    def pair_variances(self) -> dict[tuple[str, str], float]:
        """Return the variance of the estimated difference of each pair of arms, by the names of the arms."""
        return pair_errors(self._estimate, self.cells)

    def gaps(self, a: Any, b: Any) -> Table:
        """Return the difference or lift of two arms in each environment that contains both.

        If the shifts are the same for all arms, every row estimates the contrast. Columns: environment,
        estimate, se, low, high, in the order of the environments. Standard errors follow the model
        `variance`; with "clustered", the intervals are for the difference in that environment, and allow only
        for the noise inside cells.
        """
        i, k = self._position(a), self._position(b)
        if i == k:
            raise InputError(f"gaps() compares two different arms, not {a!r} with itself")
        found = self._on.gaps(i, k)
        where = [self.cells.environments[j] for j in found.environment]
        known = student_intervals(found.estimate, found.variance, found.freedom, self.confidence)
        shown = {name: self._on.shown(x) for name, x in ({"estimate": found.estimate} | known).items()}
        return Table({"environment": where, **shown, "se": known["se"]})

    @cached_property
    def interaction(self) -> InteractionSummary | None:
        """Summary of how differences between arms vary across environments, and of which arm leads where.

        None unless `variance` is a model with interactions.
        """
        if self._estimate.mixed is None:
            return None
        return summarize_interactions(self, self._estimate, self._groups, self._sign)

    def additivity(self, worst: int = 5) -> Additivity:
        """Test whether environments shift all arms equally; list the arms and environments that deviate most.

        The test compares the variation of the cells around the model with that inside cells. It needs an arm
        with two rewards in one environment, and two arms in two environments. It is exact for normal noise
        with a common variance; with `variance` "by-arm" or "by-environment" it is a generalization of Welch's
        test.
        """
        return self._on.additivity(worst)

    @cached_property
    def misfit(self) -> Additivity | None:
        """The test of `additivity`, if it clearly fails (p < 0.001); None otherwise."""
        return failed_additivity(self)

    def spread(self) -> Spread:
        """Test whether all arms and all environments have the same variance of rewards.

        If they do not, choose a `variance` that allows for it: "by-arm", "by-environment" or "sandwich".
        """
        return self._on.spread()

    def influence(self) -> Table:
        """Return a table of how the best arm and its lead change if each environment is left out in turn.

        Rows are the environments with two arms or more, the most influential first. Estimates are by least
        squares or, on the scales of ratios and odds, to first order. Columns: environment, n, best (the best
        arm without the environment), lead (of the current best arm over the best other arm without it,
        negative if it falls behind; a lift on those scales), change (of that lead). The last three are None
        where the arms would be disconnected.

        Raises
        ------
        NotComparable
            If no chain of shared environments connects all arms.
        """
        self._check_comparable()
        return self._influence

    @cached_property
    def _influence(self) -> Table:
        """Table of how the best arm and its lead change if an environment is left out, computed only once."""
        mu, without = self._on.left_out()
        return influence_table(self.cells, mu, without, self._sign, lifts=self.lifts)

    def sample_ratio(self, expected: Mapping[Any, float] | None = None) -> SampleRatio:
        """Test whether the arms received their `expected` shares of the traffic, equal shares by default."""
        arms = self.cells.arms
        shares = None if expected is None else {match_arm(arm, arms): x for arm, x in expected.items()}
        return sample_ratio(self.cells, shares, worst=5)

    def to_dict(self) -> dict[str, Any]:
        """Return all results as a dictionary of plain values: verdict, decision, tables as lists of rows."""
        return fit_to_dict(self)

    def plot(self, path: str | os.PathLike[str] | None = None) -> Picture:
        """Draw charts of the arms, the tide, and the lead in each environment; save them if a path is given.

        The returned picture displays itself in a notebook; `.save(path)` writes it as `.svg` or `.html`.
        """
        from tideproof.report.plots import fit_picture

        return save_if_requested(fit_picture(self), path)

    def __repr__(self) -> str:
        return summary(self)

    def _repr_html_(self) -> str:
        return render_notebook_html(self.verdict, self.arms)

    def _position(self, arm: Any) -> int:
        """Return the index of an arm, or raise an error if the arm is unknown."""
        arms = self.cells.arms
        return arms.index(arm if arm in arms else find_arm(arm, arms))

    def _check_comparable(self) -> None:
        """Raise an error unless shared environments connect all arms."""
        if len(self.groups) > 1:
            raise NotComparable(groups_text(self.groups, self.bridge))


def _check_about(about: About, variance: Variance) -> None:
    """Raise an error if the environments that a statement is about are unknown, or do not suit the model."""
    if about not in get_args(About):
        raise InputError(f"about must be 'similar' or 'these', not {about!r}")
    if about == "these" and variance in ABOUT_SIMILAR:
        raise InputError(f"about='these' is not supported with variance={variance!r}; use 'auto'")
