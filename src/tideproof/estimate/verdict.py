"""The decision in one sentence, and a fit in a few lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tideproof.words import counted, listed, listed_groups, rounded

if TYPE_CHECKING:
    from tideproof.estimate.fitted import Fit

NOMINAL = "intervals are nominal: after an adaptive run a 95 % interval covers about 92-93 %"


def verdict(fit: Fit) -> str:
    """Say who is best, by how much, and how sure that is."""
    decision = fit.decision
    if decision.doubt == "groups":
        return f"no best arm: {strangers(fit)}"
    best, second = decision.best, decision.runner_up
    gap = rounded(abs(fit.contrast(best, second).estimate))
    lead = f"+{gap} over {second}" if fit.direction == "maximize" else f"{gap} below {second}"
    leads = f"{best} leads: {lead}, the runner-up"
    if decision.doubt == "no freedom":
        return f"{leads}; no degree of freedom is left to say how sure that is"
    if decision.doubt == "exact":
        return f"{leads}; the fit is exact, so that nothing says how sure that is"
    chance: Any = fit.p_best[best]  # known, since there is a degree of freedom
    sure = f"{100 * fit.level:g} %"
    p_best = f"best with probability {'> 0.99' if chance > 0.995 else f'{chance:.2f}'}"
    if decision.doubt is None:
        return f"{best} is best ({sure}): {lead}, the runner-up; {p_best}"
    others = [arm for arm in decision.candidates if arm != best]
    return f"{leads}, but {listed(others)} cannot be excluded ({sure}); {p_best}"


def strangers(fit: Fit) -> str:
    """Say which arms never met, and which pulls would change that."""
    return (
        f"{len(fit.groups)} groups of arms share no environment: {listed_groups(fit.groups)}; "
        f"pull {listed(fit.bridge)} in one environment"
    )


def summary(fit: Fit) -> str:
    """Describe a fit: the verdict, the arms, the noise, and what else one should know."""
    rewards = counted(int(fit.cells.n.sum()), "reward")
    environments = counted(int((fit.cells.sizes > 0.0).sum()), "environment")
    noise = "no degree of freedom"
    if fit.sigma is not None:
        noise = f"sigma {rounded(fit.sigma)} on {counted(fit.freedom, 'degree')} of freedom"
    lines = [fit.verdict, repr(fit.arms), f"{rewards} in {environments}; {noise}"]
    if fit.variance != "auto":
        lines.append(f"standard errors: {fit.variance}")
    if fit.cells.dropped:
        lines.append(f"rows left out because a value was missing: {fit.cells.dropped}")
    if fit.uninformative:
        lines.append(f"environments with a single arm, which say nothing: {fit.uninformative}")
    if fit.adaptive:
        lines.append(NOMINAL)
    return "\n".join(lines)
