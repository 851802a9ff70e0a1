"""Chart of which arm probably leads in each environment.

It is for fits with interactions of arms and environments.
"""

from __future__ import annotations

from tideproof.analysis.interaction_summary import ONE_WINNER_SHARE, InteractionSummary
from tideproof.draw.traffic_shares import draw_shares

DRAWN = 60  # largest number of environments in the chart


def draw_leads(found: InteractionSummary) -> str:
    """Draw a chart of each arm's probability of leading in each environment.

    Of many environments, only the first `DRAWN` are drawn.
    """
    names = found.arms["arm"]
    K, seen = len(names), [row for row in found.chance if row["chance"] is not None]
    rows = [seen[start : start + K] for start in range(0, min(len(seen), DRAWN * K), K)]
    order = sorted(range(K), key=lambda i: -float(found.arms["environments_led"][i]))
    shares = [[row[i]["chance"] for i in order] for row in rows]
    return draw_shares([str(row[0]["environment"]) for row in rows], [str(names[i]) for i in order], shares)


def leads_explanation(found: InteractionSummary) -> str:
    """Return the explanation of the chart of which arm leads in each environment."""
    total = found.environments
    few = f" Only the first {DRAWN} of {total:,} environments are drawn." if total > DRAWN else ""
    return (
        "The chart shows, for each environment, the probability that each arm leads there. It is estimated "
        f"from all environments. There is one winner if the same arm leads in at least "
        f"{100 * ONE_WINNER_SHARE:.0f} % of environments.{few}"
    )
