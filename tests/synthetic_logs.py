"""Small synthetic logs that resemble real ones: their peculiarities and the truth behind them.

No line comes from the data they are named after. Each function draws a log, a mapping of columns as `tp.fit`
takes it, from the seed it is given; its docstring says which arm is best and what would mislead.
"""

from __future__ import annotations

import numpy as np


def _drawn(seed):
    return np.random.default_rng(seed)


def _columns(names, rows):
    """Return a mapping of columns from rows."""
    return dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))


def bandit_clicks(seed):
    """Draw 34 items with a bandit's traffic, by day: 24 to 2,026 impressions each, clicks in 6 of 1,000.

    Best are the items that were shown least and most: 40 and 12 clicks in 1,000.
    """
    random = _drawn(seed)
    items = [f"item {i:02d}" for i in range(34)]
    shown = np.rint(np.geomspace(24, 2026, 34)).astype(int)
    rate = np.full(34, 0.006)
    rate[0], rate[-1] = 0.04, 0.012
    tide = np.array([0.8, 1.1, 0.9, 1.0, 1.3, 1.1, 0.8])
    rows = []
    for item, total, chance in zip(items, shown, rate, strict=True):
        for day, n in enumerate(random.multinomial(total, np.full(7, 1 / 7))):
            if n:
                rows.append((item, day, n, random.binomial(n, chance * tide[day])))
    return _columns(["item", "day", "impressions", "clicks"], rows)


def headlines(seed):
    """Draw 100 tests of headlines, click rates .2 % to 8 %, lifts of A 5 %, of C 12 % over B.

    C is best. A met B in the tests with high rates, C met B in those with low ones: the difference of A and B
    in clicks a view is the larger one.
    """
    random = _drawn(seed)
    rates = np.sort(np.exp(random.uniform(np.log(0.002), np.log(0.08), 100)))
    lift = {"A": 1.05, "B": 1.0, "C": 1.12}
    rows = []
    for test, rate in enumerate(rates):
        for package in "BC" if test < 50 else "AB":
            views = int(random.integers(40_000, 80_000))
            rows.append((package, f"test {test}", views, random.binomial(views, rate * lift[package])))
    return _columns(["package", "test", "views", "clicks"], rows)


def mails(seed, rows=12_000):
    """Draw customers who got a mail about men's or women's goods or none: visit, conversion, spend.

    Men's is best in visits (27 % more than women's) and conversions, and in spend, of which 99 % are 0. Women's
    went to those who spent much before, who visit more often.
    """
    random = _drawn(seed)
    segment = random.integers(4, size=rows)
    share = np.array([[0.4, 0.4, 0.2], [0.4, 0.35, 0.25], [0.3, 0.3, 0.4], [0.2, 0.2, 0.6]])
    mail = (random.random(rows)[:, None] > np.cumsum(share, axis=1)[segment]).sum(axis=1)
    visit = random.random(rows) < np.array([0.11, 0.19, 0.15])[mail] * np.array([0.5, 0.8, 1.3, 2.2])[segment]
    bought = visit & (random.random(rows) < 0.07)
    return {
        "mail": np.array(["none", "mens", "womens"])[mail],
        "history": np.array(["0-100", "100-200", "200-500", "500+"])[segment],
        "visit": visit.astype(int),
        "conversion": bought.astype(int),
        "spend": np.where(bought, np.round(np.exp(random.normal(4.4, 0.8, rows)), 2), 0.0),
    }


def players(seed, rows=6_000):
    """Draw players of a game with a gate at level 30 or 40: return after a day and a week, and rounds played.

    Gate 30 keeps more of them (20 % and 15 % after a week). Rounds are more with gate 40, by a quarter, but one
    player with gate 30 played 49,854.
    """
    random = _drawn(seed)
    late = random.integers(2, size=rows)
    rounds = np.floor(np.exp(random.normal(2.8, 1.3, rows)) * (1.0 + late / 4.0))
    rounds[np.flatnonzero(late == 0)[0]] = 49_854.0
    return {
        "version": np.array(["gate_30", "gate_40"])[late],
        "retention_1": random.random(rows) < np.array([0.45, 0.44])[late],
        "retention_7": random.random(rows) < np.array([0.20, 0.15])[late],
        "sum_gamerounds": rounds,
    }


def daily_summaries(seed):
    """Draw a shop's experiment as count, mean and standard deviation of each variant and day.

    The treatment is better by 0.15. It was rolled out as the season went down, from 5 % of the traffic to 80 %.
    """
    random = _drawn(seed)
    rows = []
    for day in range(14):
        share = np.interp(day, [0, 13], [0.05, 0.8])
        for variant, part, lift in (("control", 1.0 - share, 0.0), ("treatment", share, 0.15)):
            n = int(2_000 * part)
            spent = 12.0 - 0.3 * day + lift + 2.0 * random.normal(size=n)
            rows.append((variant, f"day {day:02d}", n, spent.mean(), spent.std(ddof=1)))
    return _columns(["variant", "day", "n", "mean", "sd"], rows)


def adverts(seed):
    """Draw people who saw an advert (96 %) or a public notice (4 %), counted by weekday and hour.

    The advert converts 30 % more. Notices ran more in the evening, when people buy anyhow.
    """
    random = _drawn(seed)
    rows = []
    for day in ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"):
        for hour in range(24):
            evening = hour >= 16
            rate = 0.035 if evening else 0.015
            for group, share, lift in (("ad", 0.96, 1.3), ("psa", 0.04, 1.0)):
                tilt = (2.5 if evening else 0.25) if group == "psa" else 1.0
                n = random.poisson(3_500 * share * tilt)
                rows.append((group, day, hour, n, random.binomial(n, rate * lift)))
    return _columns(["group", "day", "hour", "people", "converted"], rows)


def classes(seed, schools=60):
    """Draw pupils' scores in small and regular classes, and regular ones with an aide.

    Small classes are better by 12, an aide does nothing. Poor schools have more small classes. Pupils of a class
    share a teacher, worth 8 points up or down; of a pupil it is 25.
    """
    random = _drawn(seed)
    rows = []
    for school in range(schools):
        level = 480.0 + 80.0 * school / schools
        kinds = ["small", "regular", "aide"] + (
            ["small"] * 2 if school < schools / 2 else ["regular", "aide"]
        )
        for room, kind in enumerate(kinds):
            teacher = 8.0 * random.normal()
            lift = 12.0 if kind == "small" else 0.0
            for _ in range(13 if kind == "small" else 20):
                score = level + lift + teacher + 25.0 * random.normal()
                rows.append((kind, f"school {school}", f"{school}.{room}", score))
    return _columns(["size", "school", "class", "score"], rows)


def randomised_blocks(seed):
    """Draw yields of 5 varieties in 6 blocks, one plot each; v4 is best by 6, v2 is next."""
    random = _drawn(seed)
    yields = {"v1": 60.0, "v2": 66.0, "v3": 62.0, "v4": 72.0, "v5": 58.0}
    rows = [
        (v, f"block {b}", m + 12.0 * b + 2.0 * random.normal()) for b in range(6) for v, m in yields.items()
    ]
    return _columns(["variety", "block", "yield"], rows)


def incomplete_blocks(seed):
    """Draw yields of 24 varieties in 4 replicates of 6 blocks of 4: blocks are counted anew in each replicate.

    v23 is best by 2.5, and stood in a bad block of each replicate.
    """
    random = _drawn(seed)
    level = np.append(np.linspace(0.0, 2.0, 23), 4.5)
    rows = []
    for rep in range(4):
        order = random.permutation(23)
        order = np.append(order, 23)  # the last block, which is the worst
        for place, variety in enumerate(order):
            block = place // 4
            value = 20.0 + 2.0 * rep - 3.0 * block + level[variety] + 0.4 * random.normal()
            rows.append((f"v{variety}", rep, block, value))
    return _columns(["variety", "rep", "block", "yield"], rows)


def latin_square(seed):
    """Draw a Latin square of 6 treatments; C is best by 2, rows and columns go up by 10 and 15 each."""
    random = _drawn(seed)
    level = {"A": 0.0, "B": 1.0, "C": 5.0, "D": 3.0, "E": 2.0, "F": 1.5}
    rows = []
    for row in range(6):
        for column in range(6):
            treatment = "ABCDEF"[(row + column) % 6]
            value = 100.0 + 10.0 * row + 15.0 * column + level[treatment] + 0.5 * random.normal()
            rows.append((treatment, row, column, value))
    return _columns(["treatment", "row", "column", "yield"], rows)


def years(seed):
    """Draw a trial over 8 years and 3 sites in which varieties come and go, and years get worse.

    Each variety is better by 2 than the one before it, "new" is best. Two that follow each other share years.
    """
    random = _drawn(seed)
    grown = {"old": range(3), "middle": range(1, 6), "late": range(3, 8), "new": range(5, 8)}
    rows = []
    for number, (variety, when) in enumerate(grown.items()):
        for year in when:
            for site in range(3):
                for _ in range(2):
                    value = 50.0 + 2.0 * number - 4.0 * year + 3.0 * site + random.normal()
                    rows.append((variety, 2001 + year, f"site {site}", value))
    return _columns(["variety", "year", "site", "yield"], rows)


def chain_of_fields():
    """Return four varieties, each grown once beside the next in one field: C is best, and no variance is known.

    B is 1 better than A, C 2 better than B, D 1 worse than C; fields lie 5 apart.
    """
    rows = [("A", 1, 20.0), ("B", 1, 21.0), ("B", 2, 16.0), ("C", 2, 18.0), ("C", 3, 13.0), ("D", 3, 12.0)]
    return _columns(["variety", "field", "yield"], rows)


def benchmark_times(seed):
    """Draw seconds of 43 queries on 3 machines in 4 databases, three runs each: a blink to ten minutes.

    "lean" is fastest: "quick" takes 1.2 times as long, "even" 1.5 times, "slow" 3 times. "lean" ran the lighter
    queries only, "quick" the heaviest only, where it saves most seconds.
    """
    random = _drawn(seed)
    factor = {"slow": 3.0, "even": 1.5, "quick": 1.2, "lean": 1.0}
    rows = []
    for query in range(43):
        seconds = 0.01 * 10.0 ** (4.0 * query / 42)
        for machine, speed in (("laptop", 3.0), ("server", 1.0), ("cloud", 1.6)):
            for database, times in factor.items():
                if (database == "lean" and query > 29) or (database == "quick" and query < 33):
                    continue
                for _ in range(3):
                    noise = np.exp(0.15 * random.normal())
                    rows.append((database, f"Q{query}", machine, seconds * speed * times * noise))
    return _columns(["database", "query", "machine", "seconds"], rows)
