"""Demonstration `tideproof demo --hidden`: a log of five prices without environment labels.

A shop tried five prices for two weeks and kept three columns: time, price and revenue. The shifts of all
prices (a campaign, a rival's sale, a slow season) are not recorded, and the price that was shown most
changed over time. The demo knows the truth and compares the raw mean with `fit(..., time=)`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from tideproof.analysis import Fit, fit
from tideproof.core.kernel_state_arrays import Floats
from tideproof.demos.shop_prices import (
    BEST,
    TRUTH,
    best_mark,
    compare_picks,
    leader_by_raw_mean,
    leader_mark,
    price_infos,
)
from tideproof.draw.unlabelled_demo_picture import HiddenInfo, MomentInfo
from tideproof.report.table_layout import Column, make_tables
from tideproof.text import format_probability

VISITORS = 500
MINUTES = 40  # between two visitors
SEED = 4


class ShopLog(NamedTuple):
    """Simulated log of a shop, together with the true shift at each visitor.

    Attributes
    ----------
    time, price, revenue : the three columns of the log.
    tide : the shift of all prices at each visitor.
    """

    time: NDArray[np.datetime64]
    price: list[str]
    revenue: Floats
    tide: Floats


def draw_log(seed: int = SEED) -> ShopLog:
    """Simulate the log of a shop in which all prices shift together over time.

    Each price is shown most at another time. The shifts are the same for all prices; they are slow, with four
    jumps.
    """
    random = np.random.default_rng(seed)
    t = np.arange(VISITORS) / VISITORS
    tide = 1.2 * np.sin(2.0 * np.pi * t) + np.cumsum(0.04 * random.standard_normal(VISITORS))
    for start, jump in ((0.18, 3.6), (0.43, -5.2), (0.6, 2.4), (0.82, -2.8)):
        tide = tide + jump * (t >= start)
    names = list(TRUTH)
    fashion = np.array([0.30, 0.52, 0.90, 0.72, 0.08])  # the time at which each price was shown most
    weight = 0.25 + np.exp(-0.5 * ((t[:, None] - fashion) / 0.14) ** 2)
    chance = np.cumsum(weight / weight.sum(axis=1, keepdims=True), axis=1)
    arm = (random.random(VISITORS)[:, None] > chance).sum(axis=1)
    revenue = np.array([TRUTH[names[i]] for i in arm]) + tide + random.standard_normal(VISITORS)
    time = np.datetime64("2024-05-01T09:00") + np.arange(VISITORS) * np.timedelta64(MINUTES, "m")
    return ShopLog(time, [names[i] for i in arm], revenue, tide)


def run_hidden_demo(console: Console, *, seed: int = SEED) -> HiddenInfo:
    """Analyze a simulated log without environment labels, and print the results.

    Return the data for a picture of the results.
    """
    log = draw_log(seed)
    data = {"ts": log.time, "price": log.price, "revenue": log.revenue}
    found = fit(data, arm="price", reward="revenue", time="ts")
    info = picture_info(log, found)
    console.print(
        f"{VISITORS} visitors, three columns: time, price, revenue. The log has no environment labels."
    )
    for table in _price_tables(info, found, console.width):
        console.print(table)
    tide: Any = found.tide
    for sentence in tide.sentences():
        console.print(sentence, highlight=False)
    console.print(verdict(info, found))
    return info


def picture_info(log: ShopLog, found: Fit) -> HiddenInfo:
    """Return the data for a picture of the analyzed log.

    All means contain the average shift.
    """
    level = float(log.tide.mean())
    tide: Any = found.tide
    points = tide.points(found.confidence).to_dicts()
    starts = np.searchsorted(log.time.astype("datetime64[s]").astype(np.int64), tide.starts)
    moments = [
        MomentInfo(MINUTES * int(start) / 1440.0 + 1.0, row["shift"], row["low"], row["high"])
        for start, row in zip(starts.tolist(), points, strict=True)
    ]
    days = 1.0 + np.arange(VISITORS) * MINUTES / 1440.0
    jumps = [float(days[place]) for place in tide.jumped]
    shown = log.revenue - float(log.revenue.mean())
    prices, raw = price_infos(found, level), leader_by_raw_mean(found)
    return HiddenInfo(
        days, shown, log.tide - level, moments, jumps, prices, found.confidence, BEST, raw, found.best
    )


def _price_tables(info: HiddenInfo, found: Fit, width: int) -> Iterator[RichTable]:
    shown = {row["arm"]: str(row["n"]) for row in found.arms}
    columns = [
        Column("shown", [shown[price.name] for price in info.prices]),
        Column(
            "raw mean",
            [f"{leader_mark(price.name, info.raw_pick)}{price.raw_mean:.2f}" for price in info.prices],
        ),
        Column(
            "adjusted mean",
            [f"{leader_mark(price.name, info.pick)}{price.mean:.2f}" for price in info.prices],
        ),
        Column("true mean", [f"{best_mark(p.name)}{p.truth:.2f}" for p in info.prices]),
    ]
    return make_tables(
        Column("price", [p.name for p in info.prices], left=True), columns, width, pad_edge=False
    )


def verdict(info: HiddenInfo, found: Fit) -> Text:
    """Return sentences that compare the prices selected by the raw mean and by tideproof with the best price.

    They also give the probability that tideproof's price is the best, if the data allow to state it.
    """
    text = compare_picks(info.raw_pick, info.pick)
    probability = found.p_best[info.pick]
    if probability is not None:
        text.append(f"\nProbability that {info.pick} is the best price: {format_probability(probability)}.")
    return text
