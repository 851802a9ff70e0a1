"""List of the figures of the reproduced paper, with functions that compute their data and draw them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tideproof.draw.panel_grid import Facet, draw_facets
from tideproof.draw.paper_figures import draw_conjecture, draw_graph, draw_run, draw_theorem
from tideproof.lab.share_intervals import quantile
from tideproof.research.paper import panels as named
from tideproof.research.paper.contrast_comparison import NEEDS, comparison_facets, comparison_table
from tideproof.research.paper.measurement_intervals import ErrorMeasure
from tideproof.research.paper.pics_curves import FEWEST, curve_table, facets
from tideproof.table import Table
from tideproof.worlds import mdm

PICTURES = ("pdf", "svg", "png")  # file formats of each figure


@dataclass(frozen=True)
class PaperFigure:
    """Definition of a figure of the reproduced paper: texts, and functions that compute its data and draw it.

    Attributes
    ----------
    name : name on the command line and of the files.
    title, caption : texts of the figure.
    needs : the panels and side studies that the figure shows.
    table : function that returns the data.
    draw : function that returns a matplotlib figure of the data.
    narrow : whether the figure fits one column of a journal instead of two.
    """

    name: str
    title: str
    caption: str
    needs: tuple[str, ...]
    table: Callable[[Mapping[str, Any]], Table]
    draw: Callable[[Table], Any]
    narrow: bool = False


_BENCHMARKS = (named.LINLUCB, named.ROUND_ROBIN, named.ZERO_ONE, named.SER3)
_REDUCTION = (
    named.LINLUCB,
    named.REDUCED,
    f"{named.LINLUCB}, stationary",
    named.REDUCED_ROBIN,
    f"{named.ROUND_ROBIN}, stationary",
)
SIXTEEN = tuple(
    f"{means}-{arms}-{scenario}"
    for means in named.CONFIGURATIONS
    for arms in named.ARMS
    for scenario in named.SCENARIOS
)
_BANDS = (
    "Bands are 95 % confidence intervals. "
    f"A curve ends before the first budget with fewer than {FEWEST} errors."
)
_POINTS = f"{_BANDS} SER3 is drawn at its average number of pulls."


_ENDS = tuple(f"{end} {one}" for end in ("smallest", "largest") for one in ("Cov(s_j, s_m)", "Var(mu_i)"))


def _select_quantities(table: Table, *quantities: str) -> Table:
    rows = [row for row in table if row["quantity"] in quantities]
    return Table({name: [row[name] for row in rows] for name in table.columns})


def with_interval_bounds(table: Table, level: float = 0.95) -> Table:
    """Return a table of simulated variances with the bounds of their confidence intervals added."""
    reach = [None if stderr is None else quantile(level) * stderr for stderr in table["stderr"]]
    both = list(zip(table["simulated"], reach, strict=True))
    low = [None if r is None else x - r for x, r in both]
    high = [None if r is None else x + r for x, r in both]
    return Table({**{name: table[name] for name in table.columns}, "low": low, "high": high})


def _with_ser3(worlds: tuple[str, ...]) -> tuple[str, ...]:
    return (*worlds, *(named.ser3_panel_name(world) for world in worlds))


def _existing_policies_figure(name: str, of: ErrorMeasure, title: str) -> PaperFigure:
    wanted = {"existing": (*named.EXISTING, named.SER3)}
    return PaperFigure(
        name,
        title,
        "Monotone decreasing means, five arms; environments of 2 to 50 pulls, shifts uniform on (0, 20). "
        "(a) Policies that pull all arms that are not yet eliminated in turn, on a log scale. "
        "(b) Policies that choose an arm anew before every pull, and round robin, on a linear scale. "
        f"P1, IPS (wide, hexagons), and EXP4.P, IPS (dashed, crosses), nearly coincide. {_POINTS}",
        ("existing", named.ser3_panel_name("mdm-5-general")),
        lambda found: curve_table(found, wanted, of),
        lambda table: draw_facets(_facets_by_kind(table, of), of.upper(), 2, 2.9, 6),
    )


def _facets_by_kind(table: Table, of: ErrorMeasure) -> list[Facet]:
    """Return two charts: one of policies that play arms in turn, one of policies that adapt at every pull."""
    (every,) = facets(table, of)
    in_turn = (named.ROUND_ROBIN, named.SR, named.PSS, named.SER3)
    adapt = [curve for curve in every.curves if curve.label not in in_turn[1:]]
    return [
        Facet("Playing in turn (log scale)", [c for c in every.curves if c.label in in_turn], every.longest),
        Facet("Adapting before every pull (linear scale)", adapt, every.longest, scale="linear"),
    ]


def _benchmark_figure(
    name: str, of: ErrorMeasure, worlds: tuple[str, ...], columns: int, height: float, title: str
) -> PaperFigure:
    wanted = dict.fromkeys(worlds, _BENCHMARKS)
    return PaperFigure(
        name,
        title,
        "LinLUCB; round robin and 0-1_1 with raw means; SER3, which knows the gap between the two best arms. "
        f"Insets: curves that lie close together, on a linear scale. {_POINTS}",
        _with_ser3(worlds),
        lambda found: curve_table(found, wanted, of),
        lambda table: draw_facets(facets(table, of), of.upper(), columns, height, 4),
    )


FIGURES = (
    PaperFigure(
        "fig1",
        "A policy sampling under shifts",
        "One run of LinLUCB: 120 pulls of five arms in environments (shaded in turn) with shifts s_j. "
        "Lines: the expected reward of each arm, mu_i + s_j; an environment shifts all arms alike. "
        "Marks: the received rewards; stars are those of the best arm.",
        ("illustration",),
        lambda found: found["illustration"],
        lambda table: draw_run(table, mdm(5).means, named.LINLUCB),
    ),
    _existing_policies_figure("fig2", "pics", "PICS of existing policies"),
    _existing_policies_figure("fig2-eoc", "eoc", "EOC of existing policies"),
    PaperFigure(
        "fig3",
        "The arm graph under initialisation",
        "The paper's example of five arms, after each of three environments: "
        "a line connects arms that were pulled in the same environment, and is dark for the last "
        "environment. "
        "Above, the arms form two groups that cannot be compared; "
        "below, Algorithm 1 begins an environment with the arm that ended the one before.",
        ("initialisation",),
        lambda found: found["initialisation"],
        draw_graph,
        narrow=True,
    ),
    _benchmark_figure("fig4", "pics", named.REDUCTION, 2, 4.2, "LinLUCB and benchmark policies, PICS"),
    PaperFigure(
        "fig5",
        "Reduce-to-MAB, and the same policies without shifts",
        "Reduced: a policy for stationary arms that gets rewards minus the estimated shifts. "
        f"Stationary: the policy in a world without shifts. {_BANDS}",
        (*named.REDUCTION, "mdm-5-stationary", "sc-5-stationary"),
        lambda found: curve_table(found, dict.fromkeys(named.REDUCTION, _REDUCTION), "pics"),
        lambda table: draw_facets(facets(table, "pics"), "PICS", 2, 4.4, 5),
    ),
    _benchmark_figure("appendix-pics", "pics", SIXTEEN, 4, 8.8, "The sixteen panels of the appendix, PICS"),
    _benchmark_figure("appendix-eoc", "eoc", SIXTEEN, 4, 8.8, "The sixteen panels of the appendix, EOC"),
    PaperFigure(
        "instead",
        "What we would use instead",
        "First row: PICS of the optimal fixed plan of an oracle that knows all means, without shifts "
        "(computed by integration). "
        "Below: PICS of `contrast` with and without shifts, and of LinLUCB, divided by that of the oracle; "
        "values below 1 mean fewer errors. "
        f"{_BANDS}",
        NEEDS,
        comparison_table,
        lambda table: draw_facets(comparison_facets(table), "PICS", 4, 8.8, 4),
    ),
    PaperFigure(
        "theorem1",
        "Theorem 1: what vanishes and what does not",
        "Variances of the least-squares estimators as environments grow, in the gauge s_1 = 0, "
        "by formula (lines) and by simulation on the same design (marks with 95 % confidence intervals, "
        "of which "
        "about one in twenty misses its line). Arms i and k are named above each panel; vertical axes "
        "differ. "
        "Last panel: two halves of the arms share only the first two environments; "
        "this design meets the assumptions of part 2 but contradicts its conclusion.",
        ("designs", "limits"),
        lambda found: _select_quantities(found["designs"], "1/m_1", "Var(mu_1)", "Var(difference)"),
        lambda table: draw_theorem(with_interval_bounds(table)),
    ),
    PaperFigure(
        "conjecture",
        "The conjecture of the appendix",
        "The bands contain the covariances of all pairs of shift estimators (upper row) and the variances of "
        "all means (lower row), by formula. Marks show one of each from simulations, with 95 % confidence "
        "intervals, of which about one in twenty misses its line; vertical axes differ. "
        "Both tend to 1/m_1 if arms continue to share environments; otherwise, they need not.",
        ("designs", "limits"),
        lambda found: _select_quantities(found["designs"], "1/m_1", *_ENDS, "Cov(s_2, s_3)", "Var(mu_1)"),
        lambda table: draw_conjecture(with_interval_bounds(table)),
    ),
)
