"""A log of sales, written to files of every type, and its cells computed by NumPy."""

from __future__ import annotations

import datetime as dt
import gzip
import json

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

NAMES = {"arm": "variant", "environment": "day", "reward": "sales"}


def log(rows=600, seed=0, level=0.0):
    random = np.random.default_rng(seed)
    start = dt.datetime(2024, 2, 26, 5)
    moments = [
        start + dt.timedelta(minutes=int(m)) for m in np.sort(random.integers(20 * 24 * 60, size=rows))
    ]
    return {
        "variant": [f"v{i}" for i in random.integers(3, size=rows)],
        "day": [f"d{m.day}" for m in moments],
        "ts": moments,
        "sales": (level + random.normal(size=rows)).tolist(),
        "n": random.integers(1, 9, size=rows).tolist(),
        "var": random.random(rows).tolist(),
    }


LOG = log()


def as_dict(c):
    keys = [(c.arms[i], c.environments[j]) for i, j in zip(c.arm, c.environment, strict=True)]
    return dict(zip(keys, zip(c.n, c.mean, c.squares, strict=True), strict=True))


def expected(arm, environment, reward):
    """Return count, mean and squared deviations of each cell, computed by NumPy in long double."""
    groups = {}
    for key, value in zip(zip(arm, environment, strict=True), reward, strict=True):
        groups.setdefault(key, []).append(value)
    found = {}
    for key, values in groups.items():
        mine = np.array(values, np.longdouble)
        found[key] = (mine.size, float(mine.mean()), float(((mine - mine.mean()) ** 2).sum()))
    return found


def assert_tails(cells, arm, environment, reward, rel=1e-9):
    """Compare sums of third and fourth powers of deviations with NumPy's in long double."""
    sigma = float(np.sqrt(cells.squares.sum() / cells.n.sum()))
    places = zip(cells.arm, cells.environment, strict=True)
    for c, place in enumerate((cells.arms[i], cells.environments[j]) for i, j in places):
        rows = zip(zip(arm, environment, strict=True), reward, strict=True)
        mine = np.array([x for key, x in rows if key == place], np.longdouble)
        d = mine - mine.mean()
        slack = rel * mine.size * sigma ** np.array([3.0, 4.0])
        assert cells.cubes[c] == pytest.approx(float((d**3).sum()), rel=rel, abs=slack[0])
        assert cells.fourths[c] == pytest.approx(float((d**4).sum()), rel=rel, abs=slack[1])


def assert_same(found, want, rel=1e-9):
    assert found.keys() == want.keys()
    for key, value in want.items():
        assert found[key] == pytest.approx(value, rel=rel, abs=1e-12)


def write(path, data, kind):
    frame = pl.DataFrame(data)
    if kind in ("csv", "csv.gz", "tsv", "csv.zst"):
        text = frame.write_csv(separator="\t" if kind == "tsv" else ",")
        if kind == "csv.gz":
            path.write_bytes(gzip.compress(text.encode()))
        elif kind == "csv.zst":
            path.write_bytes(pa.compress(text.encode(), "zstd", asbytes=True))
        else:
            path.write_text(text)
    elif kind == "parquet":
        frame.write_parquet(path)
    else:
        text = "\n".join(json.dumps(row, default=str) for row in frame.to_dicts()) + "\n"
        path.write_bytes(gzip.compress(text.encode()) if kind.endswith("gz") else text.encode())
    return path


def truncated(moment, every):
    if every == "hour":
        return moment.replace(minute=0)
    day = moment.date()
    return day - dt.timedelta(days=day.weekday()) if every == "week" else day
