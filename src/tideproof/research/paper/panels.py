"""Definitions of the reproduced paper's simulations (panels): each is a world with policies and budgets.

Figures and claims name the panels they need, and each panel is simulated once. The paper does not state its
budgets. Here, five arms go up to 500 pulls (1,000 in figure 2) and ten arms up to 1,000.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import cache
from typing import Any

from tideproof._version import __version__
from tideproof.policies.policy_registry import policy
from tideproof.policies.policy_spec import PolicySpec
from tideproof.worlds import Uniform, World, mdm, slippage

ROUND_ROBIN = "round robin"
ZERO_ONE = "0-1_1"
LINLUCB = "LinLUCB"
PRINTED = "LinLUCB, printed covariance"
REDUCED = "LinLUCB, reduced"
LEAST_PLAYED = "LinLUCB, reduced, least played"
REDUCED_ROBIN = "round robin, reduced"
ROBIN_OLS = "round robin, OLS selection"
SER3 = "SER3"
SR = "SR"
PSS = "PSS(2)"
P1_IPS = "P1, IPS"
CONTRAST = "contrast"

CONFIGURATIONS = {"mdm": mdm, "sc": slippage}
ARMS = (5, 10)
_WORDS = {
    "mdm": "Monotone decreasing means",
    "sc": "Slippage",
    5: "five arms",
    10: "ten arms",
    "sample-1-to-10": "one to ten samples an arm",
}
SCENARIOS = ("worst-case", "cannot-sample-all-arms", "sample-1-to-10", "general")
REDUCTION = (
    "mdm-5-general",
    "mdm-5-cannot-sample-all-arms",
    "sc-5-general",
    "sc-5-cannot-sample-all-arms",
)
STATIONARY = tuple(f"{means}-5-stationary" for means in CONFIGURATIONS)

_EXISTING = {
    ROUND_ROBIN: "round-robin",
    "UCB": "ucb1-normal",
    "LUCB": "lucb",
    "P1, mean": "p1",
    P1_IPS: "p1+ips",
    "EXP4.P, mean": "exp4p",
    "EXP4.P, IPS": "exp4p+ips",
    PSS: "pss",
    SR: "successive-rejects",
    ZERO_ONE: "zero-one",
}
EXISTING = tuple(_EXISTING)
# Values of ln(1/delta) of SER3 in short and in long environments, chosen so that its average samples cover
# the budgets. Those of figure 2 (MDM, 5 arms, long) lead to averages just below the budgets there, where
# SER3 is compared, and two lead just above, where round robin overtakes it.
_SHORT = SCENARIOS[:2]
_SWEEPS = {
    "mdm-5": ((12, 25, 45, 70, 100, 140), (4, 9, 25, 43, 58, 92, 94, 126, 128)),
    "mdm-10": ((25, 50, 80, 120, 170), (10, 25, 50, 80, 130)),
    "sc-5": ((8, 15, 25, 45, 80), (3, 8, 15, 25, 40)),
    "sc-10": ((5, 10, 18, 45, 80), (3, 8, 15, 25, 40)),
}
# Budgets at which worlds are compared with their stationary twins, and 0-1_1 with itself some pulls before
FIRST_PULLS = (30, 31, 32, 33, 35, 40)
PAIRED = (*FIRST_PULLS, 50, 80, 100, 150, 200, 300, 500)
_CAP = 20_000  # pulls; SER3 stops by itself long before
# `contrast` knows its budget and is run anew for each one, so there are few budgets, all with countable
# errors.
_OURS = {
    "mdm-5": (50, 100, 150, 200, 250, 300),
    "mdm-10": (100, 150, 200, 250, 300),
    "sc-5": (50, 100, 150, 200, 300, 400, 500),
    "sc-10": (100, 200, 300, 400, 600, 800),
}


@dataclass(frozen=True)
class Panel:
    """One simulation of a reproduced paper: a world, the policies that run in it, and their budgets.

    `keep` lists the budgets at which the selected arms of all replications are stored.
    """

    name: str
    title: str
    world: World
    policies: tuple[PolicySpec, ...]
    budgets: tuple[int, ...]
    keep: tuple[int, ...] = ()

    @property
    def work(self) -> int:
        """Approximate number of pulls of one replication, for the progress bar."""
        return sum(self._pulls(spec) for spec in self.policies)

    def _pulls(self, spec: PolicySpec) -> int:
        if spec.policy.stops:
            return self.world.arms * round(float(dict(spec.options)["log_inverse_delta"]))
        return sum(self.budgets) if spec.policy.needs_horizon else self.budgets[-1]

    def definition(self, replications: int, seed: int, engine: str) -> dict[str, Any]:
        """Return everything that determines the results of the simulation, as JSON values."""
        return {
            "world": self.world.to_dict(),
            "policies": [[spec.label, spec.name, dict(spec.options)] for spec in self.policies],
            "budgets": list(self.budgets),
            "keep": list(self.keep),
            "replications": replications,
            "seed": seed,
            "engine": engine,
            "tideproof": __version__,
        }

    def file_name(self, replications: int, seed: int, engine: str = "cpu") -> str:
        """Return the name of a file of simulation results, with a hash of everything that determines them."""
        text = json.dumps(self.definition(replications, seed, engine), sort_keys=True)
        return f"{self.name}-{hashlib.sha256(text.encode()).hexdigest()[:12]}.json"


@cache
def panels() -> dict[str, Panel]:
    """Return all simulations of a reproduced paper (worlds with policies and budgets) by name."""
    all_panels = [
        _existing(),
        _ips_stationary(),
        *(_stationary(means) for means in CONFIGURATIONS),
        _magnified(),
        _two_arms(),
    ]
    for means in CONFIGURATIONS:
        for arms in ARMS:
            for scenario in SCENARIOS:
                all_panels += _benchmarks(means, arms, scenario)
            all_panels += [_ours(means, arms, scenario) for scenario in (*SCENARIOS, "stationary")]
    return {panel.name: panel for panel in all_panels}


def panel_title(means: str, arms: int, scenario: str) -> str:
    """Return the title of a simulation: its pattern of arm means, number of arms and scenario."""
    return f"{_WORDS[means]}, {_WORDS[arms]}, {_WORDS.get(scenario, scenario.replace('-', ' '))}"


def ser3_panel_name(name: str) -> str:
    """Return the name of the simulation that runs the policy SER3 in the world of simulation `name`."""
    return f"{name}-ser3"


def contrast_panel_name(name: str) -> str:
    """Return the name of the simulation that runs the policy `contrast` in the world of simulation `name`."""
    return f"{name}-ours"


def _existing() -> Panel:
    budgets = (50, 100, 200, 300, 400, 600, 800, 1000)  # few: some policies are run for each anew
    specs = tuple(policy(name, label=label) for label, name in _EXISTING.items())
    return Panel("existing", f"Existing policies: {panel_title('mdm', 5, 'general')}", mdm(5), specs, budgets)


def _ips_stationary() -> Panel:
    """Define a simulation of the policy P1 in a world with five arms and without shifts.

    Apart from the shifts, it is the world of figure 2 of the paper.
    """
    specs = (policy("p1+ips", label=P1_IPS),)
    title = f"P1: {panel_title('mdm', 5, 'stationary')}"
    return Panel("ips-stationary", title, mdm(5, "stationary"), specs, _existing().budgets)


def _benchmarks(means: str, arms: int, scenario: str) -> list[Panel]:
    name, world = f"{means}-{arms}-{scenario}", CONFIGURATIONS[means](arms, scenario)
    title = panel_title(means, arms, scenario)
    specs = [
        policy("linlucb", label=LINLUCB),
        policy("round-robin", label=ROUND_ROBIN),
        policy("zero-one", label=ZERO_ONE),
    ]
    if name in REDUCTION:
        specs += [
            policy("linlucb", label=REDUCED, covariance="reduced"),
            policy("reduce:round-robin", label=REDUCED_ROBIN),
            policy("linlucb", label=PRINTED, covariance="printed"),
            policy("reduce:linlucb", label=LEAST_PLAYED),
            policy("round-robin+ols", label=ROBIN_OLS),
        ]
    sweep = [
        policy("ser3", label=f"{SER3}, ln(1/delta) = {log}", log_inverse_delta=float(log))
        for log in _SWEEPS[f"{means}-{arms}"][scenario not in _SHORT]
    ]
    return [
        Panel(name, title, world, tuple(specs), _grid(arms), PAIRED if name in REDUCTION else ()),
        Panel(ser3_panel_name(name), f"SER3: {title}", world, tuple(sweep), (_CAP,)),
    ]


def _ours(means: str, arms: int, scenario: str) -> Panel:
    specs = policy("linlucb", label=LINLUCB), policy("contrast", label=CONTRAST)
    return Panel(
        contrast_panel_name(f"{means}-{arms}-{scenario}"),
        panel_title(means, arms, scenario),
        CONFIGURATIONS[means](arms, scenario),
        specs,
        _OURS[f"{means}-{arms}"],
    )


def _grid(arms: int) -> tuple[int, ...]:
    """Return the budgets of a simulation, which range from 6 to 100 pulls for each arm.

    The first budget is the end of the initialisation. The budgets are dense there, because 0-1_1 gets worse
    for some pulls.
    """
    start = 6 * arms
    return start, start + 1, start + 2, start + 3, start + 5, *range(8 * arms, 100 * arms + 1, 2 * arms)


def _stationary(means: str) -> Panel:
    specs = policy("linlucb", label=LINLUCB), policy("round-robin", label=ROUND_ROBIN)
    world = CONFIGURATIONS[means](5, "stationary")
    return Panel(f"{means}-5-stationary", panel_title(means, 5, "stationary"), world, specs, _grid(5), PAIRED)


def _magnified() -> Panel:
    """Define a simulation with shifts that are a hundred times as large as in a reproduced paper.

    Apart from the shifts, its world is that of figure 2 of the paper.
    """
    world = World(mdm(5).means, 1.0, mdm(5).lengths, Uniform(0.0, 2000.0))
    specs = policy("linlucb", label=LINLUCB), policy("round-robin", label=ROUND_ROBIN)
    return Panel(
        "magnified", f"{panel_title('mdm', 5, 'general')}, shifts up to 2,000", world, specs, (100, 150, 200)
    )


def _two_arms() -> Panel:
    specs = policy("linlucb", label=LINLUCB), policy("round-robin+ols", label=REDUCED_ROBIN)
    return Panel("two-arms", "Two arms, worst case", mdm(2, "worst-case"), specs, (20, 40, 60, 80, 100))
