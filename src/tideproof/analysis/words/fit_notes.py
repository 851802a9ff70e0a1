"""Notes on a fit: sentences about the data, the scale and the tests that need no action."""

from __future__ import annotations

from tideproof.analysis.fit_result import Fit
from tideproof.analysis.outlier_exclusion import ExcludedCells
from tideproof.analysis.words.fit_warnings import all_scales_fail
from tideproof.data.cell_reader import WinsorizingThreshold
from tideproof.stats.diagnostics.additivity_test import Additivity
from tideproof.stats.diagnostics.outlying_cell_search import CUT, LARGEST_OUTLYING_SHARE
from tideproof.stats.scales.scale_comparison import explain_misfits
from tideproof.text import format_count, format_p, format_rounded, join_names, quote_if_needed

_NAMED = 4  # largest number of cells in a sentence


def fit_notes(fit: Fit, misfit: Additivity | None) -> list[str]:
    """Return the notes about the data."""
    c = fit.cells
    rewards, arms = format_count(int(c.n.sum()), "reward"), format_count(len(c.arms), "arm")
    notes = [f"{rewards} of {arms} in {format_count(len(c.environments), 'environment')}."]
    if fit.tide is not None:
        notes = [f"{rewards} of {arms}.", *fit.tide.sentences()]
    elif fit.bins is not None:
        notes = [f"{rewards} of {arms}.", fit.bins.sentence]
    elif len(c.environments) == 1:
        notes.append(
            "With one environment, no adjustment is made. If conditions and the arms' shares of the traffic "
            "changed over time, give the environments (environment)."
        )
    if len(fit.groups) == 1:
        notes += [
            *_scale_note(fit, misfit),
            *_two_arms_note(fit),
            *_disagreement_note(fit),
            *_raw_mean_note(fit),
        ]
    if fit.left_out is not None and not fit.left_out.notable:
        notes += exclusion_sentences(fit.left_out)
    if fit.anytime:
        notes.append("Comparisons of arms hold at all looks; intervals of single means hold for one look.")
    if fit.uninformative:
        single = [row["environment"] for row in fit.shifts if row["arms"] == 1]
        where = format_count(fit.uninformative, "environment")
        notes.append(f"No information comes from {where} with a single arm: {join_names(single)}.")
    if c.dropped:
        notes.append(f"Skipped because a value was missing: {format_count(c.dropped, 'row')}.")
    return notes


def _scale_note(fit: Fit, misfit: Additivity | None) -> list[str]:
    """Return the note on which scale arms are compared and why, unless that is a warning."""
    if all_scales_fail(fit):
        return []
    return [fit.choice.sentence if misfit is None else explain_misfits(fit.choice)]


def _two_arms_note(fit: Fit) -> list[str]:
    """Return the note with the one-sided p-value, for two arms."""
    doubt, best, other = fit.decision.doubt, fit.decision.best, fit.decision.runner_up
    if fit.anytime or len(fit.cells.arms) != 2 or doubt not in (None, "several candidates"):
        return []
    found = fit.contrast(best, other, picked=True)
    if (p := found.p) is None:
        return []
    exact = " As events are few, p and interval are exact, given the events of each environment."
    exact = exact if found.exact else ""
    best, other = quote_if_needed(best), quote_if_needed(other)
    beats = f"{best} beats {other}" if fit.direction == "maximize" else f"{best} is below {other}"
    return [
        f"With two arms the test is two-sided ({format_p(p)}). If the only question beforehand was whether "
        f"{beats}, the one-sided test gives {format_p(0.5 * p)}.{exact}"
    ]


def _disagreement_note(fit: Fit) -> list[str]:
    """Return a note if the verdict and the probability of being best seem to disagree, and why."""
    decision, chance = fit.decision, fit.p_best
    if decision.doubt not in (None, "several candidates") or chance[decision.best] is None:
        return []
    best, error = decision.best, 1.0 - fit.level
    rate = f"wrong in at most {100 * error:.4g} % of logs"
    posterior = "The probability of being best is a posterior probability for this log"
    unlikely = [arm for arm in decision.candidates if (chance[arm] or 0.0) < error / len(chance)]
    if decision.doubt is None and (chance[best] or 0.0) < fit.level:
        return [f"{posterior}; “is best” is the result of a test that is {rate}."]
    if decision.doubt and ((chance[best] or 0.0) >= fit.level or unlikely):
        return [
            f"{posterior}; “cannot be excluded” is the result of a test that is {rate}, and can apply to an "
            f"unlikely arm."
        ]
    gap = fit.contrast(best, decision.runner_up, picked=True)
    if decision.doubt is None and gap.low is not None and gap.high is not None and gap.low < 0.0 < gap.high:
        whose = " and for all pairs at once" if fit.anytime else ""
        return [f"The interval is two-sided{whose}; “is best” is a one-sided test of all arms, {rate}."]
    return []


def _raw_mean_note(fit: Fit) -> list[str]:
    """Return a note that names the arms with the best raw mean and the best period-weighted mean."""
    pick = max if fit.direction == "maximize" else min
    rows = fit.averages.to_dicts()
    if fit.tide is not None:
        raw = pick(rows, key=lambda row: row["raw_mean"])["arm"]
        return [
            f"The raw mean "
            f"{'picks the same arm' if raw == fit.best else f'would have picked {quote_if_needed(raw)}'}."
        ]
    raw, period = (pick(rows, key=lambda row: row[name])["arm"] for name in ("raw_mean", "period_mean"))
    if raw == fit.best == period:
        return ["The raw and the period-weighted mean pick the same arm."]
    if raw == period:
        return [f"The raw mean and the period-weighted mean would both have picked {quote_if_needed(raw)}."]
    return [
        f"The raw mean would have picked {quote_if_needed(raw)}, the period-weighted mean "
        f"{quote_if_needed(period)}."
    ]


def winsorizing_note(cap: WinsorizingThreshold) -> str:
    """Return the note that names the value above which rewards were winsorized."""
    share = f"{100 * cap.share:g} %"
    return f"Rewards above {format_rounded(cap.at)}, their {share} quantile, were replaced by it."


def exclusion_sentences(found: ExcludedCells | None) -> list[str]:
    """Return the sentence on which outlying cells were excluded."""
    if found is None:
        return []
    looked = format_count(found.looked, "cell")
    if found.torn:
        return [
            f"More than {100 * LARGEST_OUTLYING_SHARE:.0f} % of {looked} are more than {CUT:g} standard "
            f"errors from the model: the wrong ones cannot be identified, so none was excluded."
        ]
    if not len(found.table):
        return [
            f"robust: none of {looked} is more than {CUT:g} standard errors from the model; all are used."
        ]
    rows = [row for row in found.table if row["environment"] not in found.environments]
    names = [f"{row['arm']} in {row['environment']} ({abs(row['z']):.0f} standard errors)" for row in rows]
    names += [f"all of {environment}" for environment in found.environments]
    return [
        f"Excluded, because they are more than {CUT:g} standard errors from the model: "
        f"{join_names(names, most=_NAMED)}. These are {format_count(len(found.table), 'cell')} of "
        f"{found.looked:,}; find out what happened there."
    ]
