"""Small pictures of every kind, from numbers written here: what the golden files show."""

from collections.abc import Callable
from typing import Any

import numpy as np

from tideproof.draw import paper_figures
from tideproof.draw.demo_picture import DayInfo, DemoInfo, PriceInfo, demo_figure
from tideproof.draw.fit_charts import (
    ArmInfo,
    ChangeInfo,
    GapInfo,
    GapsInfo,
    MeetingsInfo,
    ShiftInfo,
    draw_arms,
    draw_gaps,
    draw_meetings,
    draw_tide,
)
from tideproof.draw.panel_grid import Facet, draw_facets
from tideproof.draw.plan_curves import PlanCurve, draw_plan
from tideproof.draw.policy_curves import PolicyCurve, draw_study
from tideproof.draw.svg_elements import Axis
from tideproof.draw.unlabelled_demo_picture import HiddenInfo, MomentInfo, hidden_demo_figure
from tideproof.table import Table
from tideproof.text import PERCENT

ARMS = [
    ArmInfo("B & <co>", 4.0, (3.25, 4.75), 2.0, True),
    ArmInfo("a name that is far too long", 3.5, (2.5, 4.5), 3.5, True),
    ArmInfo("C", 1.5, None, 2.5, False),
]
TIDE = [
    ShiftInfo(f"day {j}", 10 + j, shift, (shift - 0.5, shift + 0.75))
    for j, shift in enumerate([1.0, -2.0, 0.5, 3.0, -1.0])
]
JUMPS = [ChangeInfo(1.0, "Around day 1 the tide jumped by -3."), ChangeInfo(2.5, "Around day 3.")]
BARE_TIDE = [ShiftInfo("monday", 1, -0.5, None), ShiftInfo("tuesday", 2, 1.5, None)]
LONG_TIDE = [ShiftInfo(str(j), 1, float(j % 3), (j % 3 - 1.0, j % 3 + 1.0)) for j in range(121)]
GAPS = GapsInfo(
    "B",
    "A & <co>",
    [GapInfo("mon", 1.0, (0.0, 2.0)), GapInfo("tue", -1.0, (-2.5, 0.5)), GapInfo("wed", 2.0, None)],
    GapInfo("all environments", 0.75, (0.25, 1.25)),
)
ONE_GAP = GapsInfo("B", "A", [GapInfo("only", 1.0, (0.5, 1.5))], GapInfo("all environments", 1.0, None))
MANY_GAPS = GapsInfo(
    "B", "A", [GapInfo(str(j), 1.0, (0.5, 1.5)) for j in range(121)], GapInfo("all", 1.0, (0.9, 1.1))
)
FEW = MeetingsInfo(
    ["top", "right & <b>", "low right", "low left", "a name on the left"],
    [True, True, False, False, False],
    {(0, 1): 4.0, (1, 2): 16.0, (0, 4): 1.0},
)
LONE = MeetingsInfo(["A", "B"], [False, False], {})
MANY = MeetingsInfo([f"arm {i}" for i in range(31)], [i < 2 for i in range(31)], {(0, 30): 9.0, (3, 4): 4.0})
NINE = MeetingsInfo([f"arm {i}" for i in range(9)], [False] * 9, {(0, 8): 1.0})


# Every SVG picture, by name.
SVGS: dict[str, Callable[[], str]] = {
    "arms": lambda: draw_arms(ARMS, Axis("mean reward")),
    "tide": lambda: draw_tide(TIDE, Axis("shift of all arms")),
    "tide-hidden": lambda: draw_tide(TIDE, Axis("shift of all arms"), "time", JUMPS),
    "tide-bare": lambda: draw_tide(BARE_TIDE, Axis("lift of all arms", PERCENT, lifts=True)),
    "gaps": lambda: draw_gaps(GAPS, Axis("B minus A")),
    "gaps-one": lambda: draw_gaps(ONE_GAP, Axis("lift of B over A", PERCENT, lifts=True)),
    "meetings": lambda: draw_meetings(FEW),
    "meetings-lone": lambda: draw_meetings(LONE),
    "meetings-nine": lambda: draw_meetings(NINE),
    "meetings-many": lambda: draw_meetings(MANY),
}


def curve(label, x, value, reach=0.01):
    value = np.array(value)
    return PolicyCurve(label, x, value, np.maximum(value - reach, 0.0), value + reach)


STUDY = [
    curve("linlucb", (10, 20, 30), [0.3, 0.1, 0.0]),
    curve("round-robin", (10, 20, 30), [0.4, 0.3, 0.2]),
    *(curve(f"policy {i}", (10, 20, 30), [0.5, 0.5, 0.05 * i]) for i in range(3, 11)),
]
LONG = [curve(f"policy {i}", tuple(range(10, 260, 10)), np.linspace(0.5, 0.1, 25)) for i in range(2)]
FACETS = [
    Facet(
        "First",
        [
            curve("LinLUCB", [10, 20, 30], [0.2, 0.1, 0.05]),
            curve("round robin, stationary", list(range(16)), [0.3] * 16, 0.05),
            curve("0-1_1", [10, 20, 30, 40], [0.2, 0.15, 0.1, 0.02]),
        ],
        30.0,
    ),
    Facet("Second", [curve("SER3", [12.5, 60.5], [0.4, 0.02])], 50.0, "of a kind"),
    Facet("Third", [curve("SR", [10, 20], [0.3, 0.25])], 20.0),
    Facet("Fourth", [curve("SR", [10, 20], [0.3, 0.25])], 20.0, "of another", "linear"),
]
CROWD = Facet(
    "Crowded",
    [
        curve("LinLUCB", [10, 20, 30, 40], [0.3, 0.1, 0.01, 0.001], 0.0005),
        curve("round robin", [10, 20, 30, 40], [0.9, 0.8, 0.75, 0.7]),
        curve("0-1_1", [10, 20, 30, 40], [0.9, 0.85, 0.8, 0.7]),
        curve("SER3", [12, 25, 60], [0.9, 0.8, 0.6]),
    ],
    40.0,
)

RUN = Table(
    {
        "step": [0, 1, 2, 3, 4, 5],
        "environment": [0, 0, 1, 1, 1, 2],
        "shift": [5.0, 5.0, -1.0, -1.0, -1.0, 2.0],
        "arm": [0, 4, 1, 2, 3, 0],
        "reward": [5.5, 7.5, 0.0, 0.25, 1.75, 2.25],
    }
)
GRAPH = Table(
    {
        "policy": ["without a link"] * 4 + ["Algorithm 1"] * 4,
        "environment": [0, 0, 1, 1] * 2,
        "arm": [0, 1, 2, 3, 4, 2, 2, 0],
    }
)


def theory():
    rows = []
    for design, pair, more in (
        ("one design, worst-case", "1, 2", 0.0),
        ("another without more", "1, 3", 0.1),
    ):
        for J in (2, 10):
            for quantity, exact, simulated in (
                ("1/m_1", 0.5, None),
                ("Var(mu_1)", 0.5 + 1 / J, 0.51 + 1 / J),
                ("Var(difference)", 2.0 / J, 2.1 / J),
                ("Cov(s_2, s_3)", 0.4, 0.45),
                ("smallest Cov(s_j, s_m)", -0.2 - 1 / J, None),
                ("largest Cov(s_j, s_m)", 0.6, None),
                ("smallest Var(mu_i)", 0.55, None),
                ("largest Var(mu_i)", 0.9, None),
            ):
                low, high = (None, None) if simulated is None else (simulated - 0.05, simulated + 0.1)
                rows.append((design, pair, J, quantity, exact + more, simulated, low, high))
    columns = ("design", "pair", "environments", "quantity", "exact", "simulated", "low", "high")
    return Table(dict(zip(columns, zip(*rows, strict=True), strict=True)))


DEMO = DemoInfo(
    [DayInfo(1.0, 1.25, 0.75, 1.75), DayInfo(-1.0, -1.5, -2.0, -1.0), DayInfo(0.5, 0.25, 0.0, 0.5)],
    [
        PriceInfo("9.90", 2.0, 3.0, 1.5, 1.0, 2.0),
        PriceInfo("10.90", 2.5, 1.25, 2.75, 2.25, 3.25),
        PriceInfo("11.90", 1.0, 1.5, 1.0, 0.5, 1.5),
    ],
    0.8,
    "10.90",
    "9.90",
    "10.90",
)
HIDDEN = HiddenInfo(
    days=np.linspace(1.0, 3.0, 9),
    rewards=np.array([1.0, -0.5, 0.5, 3.0, 2.0, 3.5, 2.5, 4.0, 3.0]),
    truth=np.repeat([0.0, 3.0], [3, 6]),
    moments=[
        MomentInfo(1.0, 0.25, -0.5, 1.0),
        MomentInfo(1.75, 3.0, 2.5, 3.5),
        MomentInfo(2.5, 2.75, 2.0, 3.5),
    ],
    jumps=[1.75],
    prices=DEMO.prices,
    confidence=0.95,
    best=DEMO.best,
    raw_pick=DEMO.raw_pick,
    pick=DEMO.pick,
)


PLAN = [
    PlanCurve(
        way,
        found,
        {
            "budget": [50, 100, 200],
            "error": [0.2, 0.1, 0.0],
            "low": [0.15, 0.0625, 0.0],
            "high": [0.25, 0.125, 0.0625],
        },
        np.array([50.0, 125.0, 200.0]),
        np.array([0.2, 0.0625, 0.015625]),
    )
    for way, found in (("contrast", 140), ("even split", 1250))
]


# Every picture of matplotlib, by name.
FIGURES: dict[str, Callable[[], Any]] = {
    "study": lambda: draw_study(STUDY, "pics", 12_345, True, None),
    "study-linear": lambda: draw_study(LONG, "samples", 1, False, None),
    "facets": lambda: draw_facets(FACETS, "PICS", 2, 5.0, 3),
    "crowd": lambda: draw_facets([CROWD], "EOC", 1, 2.5, 2),
    "run": lambda: paper_figures.draw_run(RUN, [0.0, 0.5, 1.0, 1.5, 2.0], "LinLUCB"),
    "graph": lambda: paper_figures.draw_graph(GRAPH),
    "theorem": lambda: paper_figures.draw_theorem(theory()),
    "conjecture": lambda: paper_figures.draw_conjecture(theory()),
    "demo": lambda: demo_figure(DEMO),
    "demo-hidden": lambda: hidden_demo_figure(HIDDEN),
    "plan": lambda: draw_plan(PLAN, 0.05, "3 arms", None),
}
