"""Prices of the simulated shop, and texts that both demonstrations show."""

from __future__ import annotations

from rich.text import Text

from tideproof.analysis import Fit
from tideproof.draw.demo_picture import PriceInfo

TRUTH = {"9.90": 2.0, "10.90": 2.3, "11.90": 2.9, "12.90": 2.5, "13.90": 1.9}  # mean revenue of a visitor
BEST = max(TRUTH, key=lambda price: TRUTH[price])


def price_infos(fit: Fit, shift: float) -> list[PriceInfo]:
    """Return the prices for a picture, with their estimated means and their true means.

    The average shift `shift` is added to the true means, because estimated means contain it.
    """
    rows = {row["arm"]: row for row in fit.arms}
    return [
        PriceInfo(price, truth + shift, *(rows[price][name] for name in ("raw_mean", "mean", "low", "high")))
        for price, truth in TRUTH.items()
    ]


def leader_by_raw_mean(fit: Fit) -> str:
    """Return the price with the highest raw mean of the revenue per visitor."""
    return str(max(fit.arms, key=lambda row: row["raw_mean"])["arm"])


def leader_mark(price: str, leader: str) -> str:
    """Return the label "leads " if the price is the leader, else an empty string."""
    return "leads " if price == leader else ""


def best_mark(price: str) -> str:
    """Return the label "best " for the price with the highest true mean, else an empty string."""
    return "best " if price == BEST else ""


def compare_picks(raw: str, ours: str) -> Text:
    """Return sentences that say whether the raw mean and tideproof select the best price."""
    text = Text()
    for method, price in (("The raw mean", raw), ("tideproof", ours)):
        right = price == BEST
        text.append(f"\n{method} picks {price}: ")
        text.append(
            "right"
            if right
            else f"wrong, it earns {TRUTH[BEST] - TRUTH[price]:.2f} less per visitor than {BEST}",
            style="bold green" if right else "bold red",
        )
    return text
