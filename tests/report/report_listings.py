"""What charts of reports show, as data: `python tests/report/report_listings.py` writes the values anew."""

import sys
from functools import cache, partial
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))


import tideproof as tp
from golden_data import Cases, numbers, rewrite
from tideproof.analysis.alarms import decisive_row
from tideproof.analysis.words.analysis_report import describe_fit
from tideproof.report import html_report, lead_history
from tideproof.report.report_tables import arm_columns, detail_tables, format_chance
from tideproof.text import format_p

FILE = Path(__file__).parent / "golden" / "charts.json"
KINDS = {
    "normal": {},
    "lower is better": {"direction": "minimize"},
    "conversions": {},
    "money": {"scale": "ratio"},
    "interaction": {"variance": "interaction"},
    "without days": {},
    "many days": {},
    "apart": {},
    "one large": {},
}


@cache
def fit(kind):
    """Return the fit of a log of this kind."""
    random = np.random.default_rng(5)
    days = 300 if kind == "many days" else 9
    arm = np.tile(np.arange(3), 4 * days)
    day = np.repeat(np.arange(days), 12)
    shift = 3.0 * np.sin(np.arange(days))[day]
    reward = 0.8 * arm + shift + random.normal(size=arm.size)
    if kind == "conversions":
        reward = (random.random(arm.size) < 0.2 + 0.15 * arm).astype(float)
    elif kind == "money":
        reward = np.exp(0.4 * arm + 0.2 * shift + random.normal(size=arm.size))
    elif kind == "interaction":
        reward += random.normal(size=(days, 3))[day, arm] * 2.0
    elif kind == "one large":
        reward[17] = 400.0
    seen = np.ones(arm.size, bool)
    if kind == "apart":
        seen = (arm == 2) == (day == 8)
    names = {"arm": np.array(["A", "B", "C"])[arm][seen].tolist(), "reward": reward[seen]}
    names["time" if kind == "without days" else "day"] = (
        np.arange(arm.size) if kind == "without days" else day
    )[seen]
    where = {"time": "time"} if kind == "without days" else {"environment": "day"}
    return tp.fit(names, arm="arm", reward="reward", **where, **KINDS[kind])


def charts(kind):
    """Return the numbers of all charts of a log."""
    found = fit(kind)
    analysis = describe_fit(found)
    gaps, lead = html_report.gaps_info(found), lead_history.lead_info(found)
    tide = None if kind == "without days" else html_report.tide_info(found)
    axis = html_report.means_axis(found)
    return {
        "arms": html_report.arms_info(analysis),
        "axis of means": [axis.low, axis.high, axis.lifts],
        "shifts": None if tide is None else [tide.each, len(tide.shifts), tide.shifts[:12]],
        "hidden tide": thin(html_report.hidden_tide_info(found)),
        "gaps": thin(gaps),
        "meetings": html_report.meetings_info(analysis),
        "lead": None
        if lead is None
        else [
            lead.best,
            lead.rival,
            len(lead.leads),
            lead.leads[::40] if len(lead.leads) > 20 else lead.leads,
        ],
        "shares": thin(lead_history.shares_info(found.cells)),
        "decisive row": decisive_row(found),
    }


def thin(value):
    """Return a tuple with long lists cut to their length and every fortieth element."""
    if isinstance(value, (list, tuple)) and not hasattr(value, "_asdict"):
        return [len(value), *map(thin, value[::40])] if len(value) > 40 else [thin(each) for each in value]
    return (
        {name: thin(each) for name, each in value._asdict().items()} if hasattr(value, "_asdict") else value
    )


def tables(kind):
    """Return the analysis as data, its cards and its tables, with texts as their numbers."""
    found = describe_fit(fit(kind))
    plain = found.to_dict()
    return {
        "data": {name: numbers(v) if isinstance(v, str) and v.count(" ") > 3 else v for name, v in plain.items()
                 if name not in ("notes", "warnings", "answers")},
        "counts": {name: len(v) for name, v in plain.items() if isinstance(v, list)},
        "cards": [[card.title, numbers(card.words)] for card in html_report.cards(found)],
        "columns": [[column.header, [numbers(cell) for cell in column.cells]] for column in arm_columns(found)],
        "details": [[title, [[c.header, len(c.cells), c.cells[:2]] for c in columns]]
                    for title, _, columns in detail_tables(found)],
    }  # fmt: skip


CASES: Cases = {
    **{kind: partial(charts, kind) for kind in KINDS},
    **{f"{kind}, tables": partial(tables, kind) for kind in KINDS if kind != "many days"},
    "p-values": lambda: [format_p(p) for p in (0.0, 1e-9, 0.0009, 0.001, 0.0123, 0.049, 0.05, 0.5, 1.0)],
    "chances": lambda: [format_chance(p) for p in (None, 0.0, 1e-4, 0.001, 0.5, 0.999, 0.9999, 1.0)],
}

if __name__ == "__main__":
    rewrite(CASES, FILE)
