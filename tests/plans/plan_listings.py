"""Numbers of plans: `python tests/plans/plan_listings.py` writes the stored values anew."""

import sys
from functools import partial
from itertools import product
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

import tideproof as tp
from golden_data import Cases, numbers, rewrite
from tideproof.plans.even_split import even_budget, named_budget
from tideproof.plans.pilot_study import pilot_of
from tideproof.plans.plan_question import make_question
from tideproof.plans.planner import answer_question
from tideproof.plans.stopping_time import default_runs, find_stopping_budget
from tideproof.worlds import Lengths

FILE = Path(__file__).parent / "golden" / "plans.json"
LEADS = {
    "gap 0.5": {"gap": 0.5},
    "gap 0.3 of 2": {"gap": 0.3, "sigma": 2.0},
    "rate 0.05": {"rate": 0.05, "lift": 0.2},
}
LENGTHS = {"2": 2, "50": 50, "some": Lengths([40, 1, 300])}
PLANS = {
    "three arms": {"arms": 3, "gap": 1.0, "per_environment": 20, "error": 0.1, "replications": 300},
    "two arms, short": {"arms": 2, "gap": 0.3, "per_environment": 2, "replications": 200, "seed": 4},
    "conversions": {"arms": 3, "rate": 0.2, "lift": 0.5, "per_environment": 80, "replications": 200},
    "many arms in blocks": {"arms": 13, "gap": 0.5, "per_environment": 30, "replications": 100},
}


def question(arms, lead, lengths, error):
    """Return a question, its worlds and options, and the budgets that formulas give."""
    asked = make_question(arms=arms, lengths=LENGTHS[lengths], error=error, **LEADS[lead])
    return {
        "asked": [asked.gap, asked.best_sigma, asked.rates, asked.size],
        "worlds": [asked.world(block).to_dict() for block in (1, 3)],
        "exploration": [asked.options(900, block)["exploration"] for block in (1, 7)],
        "budgets": [even_budget(asked), named_budget(asked)],
        "cap": find_stopping_budget(even_budget(asked)),
    }


def plan(options):
    """Return a plan as data, with the numbers of its sentences."""
    found = tp.plan(**options).to_dict()
    return found | {name: numbers(found[name]) for name in ("sentence", "power")}


def pilot(rewards):
    """Return the numbers of a pilot log."""
    days = [0, 0, 0, 0, 1, 1, 1, 2, 2, 2]
    return pilot_of({"arm": list("abababaabb"), "day": days, "y": rewards}, "arm", "day", "y")


def long_lengths():
    """Return the budgets of a plan whose environments are those of a pilot log."""
    asked = make_question(arms=2, gap=1.2, lengths=Lengths([30, 12, 1]), error=0.2)
    found = answer_question(asked, "", 100)
    return [found.budget, found.even_split, found.pulls_for_power, found.environments(found.budget)]


CASES: Cases = {
    **{
        f"{arms} arms, {lead}, {lengths} a day, error {error}": partial(question, arms, lead, lengths, error)
        for arms, lead, lengths, error in [
            *product((2,), LEADS, LENGTHS, (0.05, 0.2)),
            (6, "gap 0.5", "50", 0.1),
        ]
    },
    **{name: partial(plan, options) for name, options in PLANS.items()},
    "lengths of a log": long_lengths,
    "runs": lambda: [default_runs(rule, arms) for rule in ("calibrated", "proven") for arms in (2, 9, 40)],
    "pilot of means": lambda: pilot([1.0, 2.5, 1.5, 3.0, 0.5, 1.0, 1.5, 4.0, 6.0, 5.0]),
    "pilot of rates": lambda: pilot([0, 1, 0, 1, 0, 1, 0, 0, 1, 1]),
}

if __name__ == "__main__":
    rewrite(CASES, FILE)
