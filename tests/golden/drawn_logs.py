"""Logs of many kinds, drawn from a seed, for the stored fits."""

from __future__ import annotations

import numpy as np

ARMS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def drawn_log(
    kind="normal",
    *,
    seed=1,
    arms=3,
    environments=6,
    rows=180,
    base=10.0,
    lift=0.1,
    shift=0.5,
    sd=1.0,
    multiply=1.0,
    seen=1.0,
    groups=1,
    interaction=0.0,
    by_arm=0.0,
    by_environment=0.0,
    wrong=0,
    moving=0.0,
    one_country=False,
):
    """Return a log with columns of every kind.

    Parameters
    ----------
    kind : normal, skewed, conversions, counts, money (mostly 0) or seconds (lognormal).
    base, lift, shift, sd : the mean of the first arm; the lift of each next arm; the size of the shifts and
        of the noise. Kinds other than normal multiply.
    multiply : a factor of all rewards.
    seen : the share of the cells that have rows.
    groups : the number of groups of arms that never met.
    interaction, by_arm, by_environment : how much arms differ between environments, and the noise between
        arms and environments.
    wrong : the number of cells that are far off.
    moving : how far the tide moves inside environments.
    """
    random = np.random.default_rng(seed)
    arm, day = random.integers(arms, size=rows), random.integers(environments, size=rows)
    if arms > len(ARMS):  # every arm, so that the number of arms is exact
        arm[:arms] = np.arange(arms)
    there = random.random((arms, environments)) < seen
    there[:, 0] = True
    if groups > 1:
        there &= (np.arange(arms)[:, None] % groups) == (np.arange(environments) % groups)
    kept = there[arm, day]
    arm, day = arm[kept], day[kept]
    n = arm.size
    time = day * 10.0 + np.sort(random.random(n)) * 10.0
    earlier = random.normal(size=n)
    unit = random.integers(max(2, n // 4), size=n)
    site = random.integers(3, size=n)
    effect = (
        random.normal(size=environments)[day] * shift
        + random.normal(size=(arms, environments))[arm, day] * interaction
    )
    effect = effect + moving * np.sin(time / 3.0)
    noise = (
        random.normal(size=n)
        * (1.0 + by_arm * arm)
        * np.exp(by_environment * random.normal(size=environments)[day])
    )
    if kind in ("normal", "skewed"):
        if kind == "skewed":
            noise = np.exp(noise) - np.exp(0.5)
        reward = base + base * lift * arm + effect + 0.8 * earlier + sd * noise + 0.3 * site
    else:
        mean = base * (1.0 + lift) ** arm * np.exp(effect)
        if kind == "conversions":
            reward = (random.random(n) < np.minimum(mean, 0.97)).astype(int)
        elif kind == "counts":
            reward = random.poisson(mean)
        elif kind == "money":
            reward = np.where(random.random(n) < 0.3, mean * np.exp(sd * noise), 0.0).round(2)
        else:
            reward = mean * np.exp(sd * noise)
    reward = multiply * reward
    cells = np.unique(arm * environments + day)
    for cell in random.permutation(cells)[:wrong]:
        reward = np.where(arm * environments + day == cell, reward + 30.0 * sd, reward)
    names = [ARMS[i] if arms <= 26 else f"arm {i:04d}" for i in range(arms)]
    country = np.where(random.random(n) < 0.4, "n", "s")
    return {
        "arm": [names[i] for i in arm],
        "day": (day + 1).tolist(),
        "site": [f"site {i}" for i in site],
        "unit": unit.tolist(),
        "time": time.tolist(),
        "earlier": earlier.tolist(),
        "weight": random.random(n).tolist(),
        "sessions": random.integers(1, 9, size=n).tolist(),
        "country": ["n"] * n if one_country else country.tolist(),
        "wait": (5.0 + 0.2 * arm + random.normal(size=n)).tolist(),
        "reward": reward.tolist(),
    }


def aggregated(log):
    """Return a log of aggregated rows: n, mean, standard deviation, variance and sum of each cell."""
    cells: dict[tuple, list] = {}
    for arm, day, reward in zip(log["arm"], log["day"], log["reward"], strict=True):
        cells.setdefault((arm, day), []).append(float(reward))
    values = [np.array(each) for each in cells.values()]
    return {
        "arm": [arm for arm, _ in cells],
        "day": [day for _, day in cells],
        "n": [x.size for x in values],
        "mean": [x.mean() for x in values],
        "sd": [x.std(ddof=1) if x.size > 1 else 0.0 for x in values],
        "variance": [x.var(ddof=1) if x.size > 1 else 0.0 for x in values],
        "successes": [int(x.sum()) for x in values],
    }


def wide(log):
    """Return one row for each day and place in the day's order, and one column for each arm."""
    columns: dict[str, dict] = {arm: {} for arm in sorted(set(log["arm"]))}
    for arm, day, reward in zip(log["arm"], log["day"], log["reward"], strict=True):
        row = day, sum(key[0] == day for key in columns[arm])
        columns[arm][row] = reward
    rows = sorted({row for column in columns.values() for row in column})
    return {"day": [day for day, _ in rows]} | {
        arm: [column.get(row) for row in rows] for arm, column in columns.items()
    }
