"""Scripted experiments with every policy and option, and what is stored of each."""

from __future__ import annotations

import math
from dataclasses import replace
from unittest import mock

import numpy as np

import tideproof as tp
from golden.fit_cases import attempt
from golden.stored_values import plain
from tideproof import errors

HOUR = 3600.0
ONES = {"rewards": "conversions"}
LABELLED_OR_NOT = {"tide": "hidden", "steps": 45}

# name: options of the experiment, and of `play`.
RUNS: dict[str, dict] = {
    "contrast": {},
    "contrast, minimise": {"direction": "minimize"},
    "contrast, options": {"policy": ("contrast", {"n0": 1, "exploration": 3.0, "anytime": True})},
    "contrast, no budget": {"policy": ("contrast", {"anytime": True}), "budget": None},
    "two arms": {"arms": 2},
    "seven arms": {"arms": 7, "steps": 90},
    "linlucb": {"policy": "linlucb"},
    "linlucb, n0": {"policy": ("linlucb", {"n0": 3}), "arms": 4},
    "linlucb, printed": {"policy": ("linlucb", {"covariance": "printed"})},
    "linlucb, reduced": {"policy": ("linlucb", {"covariance": "reduced"})},
    "round-robin": {"policy": "round-robin", "budget": None},
    "round-robin+ols": {"policy": "round-robin+ols"},
    "round-robin+period": {"policy": "round-robin+period"},
    "round-robin+control": {"policy": "round-robin+control"},
    "ucb1-normal": {"policy": "ucb1-normal"},
    "lucb": {"policy": "lucb"},
    "p1": {"policy": "p1"},
    "p1+ips": {"policy": "p1+ips"},
    "exp4p": {"policy": ("exp4p", {"lo": -3.0, "hi": 25.0})},
    "exp4p+ips": {"policy": ("exp4p+ips", {"lo": -3.0, "hi": 25.0})},
    "successive-rejects": {"policy": "successive-rejects", "arms": 5},
    "sequential-halving": {"policy": "sequential-halving", "arms": 6},
    "pss": {"policy": "pss"},
    "pss, u": {"policy": ("pss", {"u": 1.5}), "arms": 4},
    "ser3": {"policy": "ser3", "steps": 150, "budget": 150},
    "ser3, options": {
        "policy": ("ser3", {"epsilon": 1.0, "log_inverse_delta": 1.0}),
        "steps": 150,
        "budget": 150,
    },
    "zero-one": {"policy": "zero-one"},
    "ocba": {"policy": "ocba"},
    "knowledge-gradient": {"policy": "knowledge-gradient"},
    "top-two-thompson": {"policy": "top-two-thompson"},
    "top-two-thompson, options": {"policy": ("top-two-thompson", {"n0": 3, "beta": 0.8}), "arms": 5},
    "reduce:lucb": {"policy": "reduce:lucb"},
    "reduce:linlucb": {"policy": "reduce:linlucb"},
    "reduce:p1": {"policy": "reduce:p1"},
    "reduce:zero-one": {"policy": "reduce:zero-one"},
    "reduce:sequential-halving": {"policy": "reduce:sequential-halving", "arms": 5},
    "reduce:successive-rejects": {"policy": "reduce:successive-rejects", "arms": 5},
    "reduce:top-two-thompson": {"policy": "reduce:top-two-thompson"},
    "by-arm:contrast": {"policy": ("contrast", {"noise": "by-arm"}), "by_arm": 1.0},
    "by-arm:linlucb": {"policy": ("linlucb", {"noise": "by-arm"}), "by_arm": 1.0},
    "by-arm:top-two-thompson": {"policy": ("top-two-thompson", {"noise": "by-arm"}), "by_arm": 1.0},
    "interaction:contrast": {"policy": ("contrast", {"interaction": True}), "interaction": 1.0},
    "auto:contrast": {"policy": ("contrast", {"interaction": "auto"}), "interaction": 1.0},
    "auto:round-robin": {"policy": ("round-robin", {"interaction": "auto"})},
    "by-arm:auto:contrast": {
        "policy": ("contrast", {"noise": "by-arm", "interaction": "auto"}),
        "by_arm": 1.0,
    },
    "robust:contrast": {"policy": ("contrast", {"robust": "cells"}), "wrong": [(2, "B")], "steps": 80},
    "robust:linlucb": {"policy": ("linlucb", {"robust": "cells"}), "wrong": [(2, "B")]},
    "hidden": LABELLED_OR_NOT,
    "hidden, minimise": LABELLED_OR_NOT | {"direction": "minimize", "policy": "linlucb"},
    "hidden:top-two-thompson": LABELLED_OR_NOT | {"policy": "top-two-thompson"},
    "hidden:round-robin": LABELLED_OR_NOT | {"policy": "round-robin+ols"},
    "hidden:reduce:lucb": LABELLED_OR_NOT | {"policy": "reduce:lucb"},
    "hidden, in batches": LABELLED_OR_NOT | {"batch": 5},
    "hidden, late": LABELLED_OR_NOT | {"late": 4},
    "hidden, arms change": LABELLED_OR_NOT | {"actions": {20: [("add_arm", "X")], 35: [("retire_arm", "A")]}},
    "hidden, corrected": LABELLED_OR_NOT
    | {"actions": {20: [("correct", 3, 1.0)], 35: [("correct", 30, 2.0)]}},
    "hidden, far": LABELLED_OR_NOT | {"wrong": [(2, "ABC"), (4, "AB")], "far": 1e6},
    "hidden, far, late": LABELLED_OR_NOT
    | {"wrong": [(2, "ABC")], "far": -3e4, "late": 3, "policy": "linlucb"},
    "robust, several": {
        "policy": ("contrast", {"robust": "cells"}),
        "wrong": [(1, "A"), (3, "BC"), (5, "C"), (6, "ABC")],
        "steps": 90,
        "arms": 4,
    },
    "robust, corrected back": {
        "policy": ("linlucb", {"robust": "cells"}),
        "wrong": [(1, "A"), (4, "D")],
        "steps": 80,
        "arms": 5,
        "actions": {40: [("correct", 8, 9.0), ("correct", 9, 9.0)]},
    },
    "robust, thompson": {
        "policy": ("top-two-thompson", {"robust": "cells"}),
        "wrong": [(1, "AB"), (4, "C")],
        "far": -25.0,
        "steps": 80,
        "batch": 3,
    },
    "both": {"tide": "both", "steps": 45},
    "both, late": {"tide": "both", "steps": 45, "late": 3, "policy": "linlucb"},
    "no labels": {"tide": "auto", "labels": False, "steps": 45},
    "conversions": ONES,
    "conversions, difference": ONES | {"scale": "difference", "policy": "linlucb"},
    "conversions, odds": ONES | {"scale": "odds"},
    "conversions, ratio": ONES | {"scale": "ratio", "policy": "top-two-thompson"},
    "conversions, reduce:lucb": ONES | {"policy": "reduce:lucb"},
    "counts": {"rewards": "counts"},
    "money": {"rewards": "money", "policy": "linlucb"},
    "money, ratio": {"rewards": "money", "scale": "ratio"},
    "sure": {"confidence": 0.95, "steps": 150, "budget": 150},
    "sure, proven": {"confidence": 0.95, "rule": "proven", "steps": 150, "budget": 150},
    "sure, open end": {"confidence": 0.9, "budget": None, "steps": 120, "lift": 1.0},
    "sure, linlucb": {"confidence": 0.95, "policy": "linlucb", "steps": 100, "arms": 5},
    "sure, sure:contrast": {"policy": ("sure:contrast", {"confidence": 0.9}), "steps": 120},
    "sure, minimise": {"confidence": 0.9, "direction": "minimize", "steps": 120, "lift": 1.0},
    "sure, close": {"confidence": 0.95, "lift": 0.05, "steps": 100},
    "sure, conversions": ONES | {"confidence": 0.9, "steps": 150, "budget": 150, "lift": 1.5},
    "sure, conversions, odds": ONES | {"confidence": 0.9, "scale": "odds", "steps": 150, "budget": 200},
    "sure, counts": {"rewards": "counts", "confidence": 0.95, "steps": 100, "lift": 1.0},
    "sure, money": {"rewards": "money", "confidence": 0.95, "steps": 100, "lift": 1.0},
    "sure, late": {"confidence": 0.9, "steps": 100, "late": 5, "lift": 1.0},
    "sure, arms change": {
        "confidence": 0.9,
        "steps": 110,
        "lift": 1.0,
        "actions": {30: [("add_arm", "X")], 60: [("retire_arm", "A")]},
    },
    "sure, corrected": {"confidence": 0.9, "steps": 90, "lift": 1.0, "actions": {40: [("correct", 5, 9.0)]}},
    "batches": {"batch": 6},
    "batches, thompson": {"batch": 4, "policy": "top-two-thompson"},
    "batches, lucb": {"batch": 4, "policy": "lucb"},
    "late": {"late": 7},
    "late, p1": {"late": 5, "policy": "p1"},
    "late, halving": {"late": 5, "policy": "sequential-halving", "arms": 5},
    "late, reduce:lucb": {"late": 5, "policy": "reduce:lucb"},
    "late, by arm": {"late": 5, "policy": ("contrast", {"noise": "by-arm"}), "by_arm": 0.5},
    "late, robust": {"late": 5, "policy": ("contrast", {"robust": "cells"}), "wrong": [(2, "B")]},
    "minimum shares": {"minimum_shares": {"A": 0.3, "B": 0.2}},
    "maximum shares": {"maximum_shares": {"C": 0.4}, "policy": "linlucb"},
    "minimum and maximum shares": {
        "minimum_shares": {"A": 0.3},
        "maximum_shares": {"C": 0.4, "B": 0.5},
        "batch": 3,
    },
    "limits": {"limits": (-50.0, 50.0), "actions": {10: [("tell", 99.0)]}},
    "units": {"units": True},
    "units, thompson": {"units": True, "policy": "top-two-thompson", "minimum_shares": {"A": 0.2}},
    "units, forgotten": {"units": True, "actions": {30: [("forget_units",)]}},
    "leases": {"lease": HOUR, "late": 6, "every": 900.0},
    "leases, default": {"lease": HOUR, "default": 1.0, "late": 6, "every": 900.0},
    "window": ONES | {"lease": HOUR, "late": 3, "every": 900.0},
    "window, late": ONES | {"lease": HOUR, "late": 6, "every": 900.0},
    "reserved": {"units": True, "lease": HOUR, "reserve": 600.0, "every": 250.0, "expose": 3},
    "arms change": {"actions": {15: [("add_arm", "X")], 30: [("retire_arm", "A")], 40: [("add_arm", "Y")]}},
    "arms change, thompson": {
        "policy": "top-two-thompson",
        "actions": {15: [("add_arm", "X")], 30: [("retire_arm", "C")]},
    },
    "arms change, reduce:lucb": {
        "policy": "reduce:lucb",
        "actions": {15: [("add_arm", "X")], 30: [("retire_arm", "A")]},
    },
    "corrected": {"actions": {20: [("correct", 3, 30.0)], 40: [("correct", 3, 5.0), ("correct", 7, 1.0)]}},
    "corrected, robust": {
        "policy": ("contrast", {"robust": "cells"}),
        "actions": {30: [("correct", 3, 99.0)]},
    },
    "corrected, p1": {"policy": "p1", "actions": {30: [("correct", 3, 99.0)]}},
    "cancelled": {
        "late": 5,
        "actions": {12: [("cancel_oldest",)], 25: [("cancel_oldest",)], 40: [("cancel_oldest",)]},
    },
    "paused": {"actions": {20: [("pause",)], 30: [("resume",)], 50: [("extend", 400)], 55: [("stop",)]}},
    "extended": {"budget": 40, "actions": {38: [("extend", 60)]}, "policy": "contrast"},
    "summaries": {
        "actions": {
            10: [("summary", {"arm": "A", "environment": "old", "n": 40, "mean": 8.0, "variance": 1.5})],
            20: [("summary", {"arm": "B", "environment": "old", "n": 30, "mean": 9.5, "variance": 2.0})],
        }
    },
    "summaries, conversions": ONES
    | {
        "actions": {
            10: [("summary", {"arm": "A", "environment": "old", "n": 40, "successes": 12})],
            20: [("summary", {"arm": "C", "environment": "old", "n": 30, "successes": 15})],
        }
    },
    "warm start": {"warm": True},
    "warm start, linlucb": {"warm": True, "policy": "linlucb", "arms": 4},
    "warm start, conversions": ONES | {"warm": True},
    "warm start, sure": {"warm": True, "confidence": 0.9, "lift": 1.0, "steps": 90},
    "time zone": {"time_zone": "Europe/Berlin", "labels": False, "every": 5.0 * HOUR},
}

PLAY = {
    "steps",
    "arms",
    "labels",
    "batch",
    "late",
    "units",
    "by_arm",
    "interaction",
    "wrong",
    "lift",
    "actions",
}
PLAY |= {"far", "every", "expose", "warm"}


def stored_run(name):
    """Run the script of one case and return what is stored of it; arms of units depend on a secret number."""
    case = RUNS[name]
    options = {key: value for key, value in case.items() if key not in PLAY}
    with mock.patch("secrets.token_hex", lambda size: "1f" * size):
        return Script(options, **{key: value for key, value in case.items() if key in PLAY}).play()


class Script:
    """An experiment that is asked and told by a script, and whose answers are recorded."""

    def __init__(
        self,
        options,
        *,
        steps=60,
        arms=3,
        labels=True,
        batch=1,
        late=0,
        units=False,
        by_arm=0.0,
        interaction=0.0,
        wrong=(),
        far=40.0,
        lift=0.5,
        actions=None,
        every=60.0,
        expose=0,
        warm=False,
    ):
        chosen = options.get("policy", "contrast")
        policy = chosen if isinstance(chosen, str) else tp.policy(chosen[0], **chosen[1])
        self.time = 1.7e9
        options = {"budget": 100, "seed": 11} | options | {"policy": policy, "clock": lambda: self.time}
        self.names = list("ABCDEFG"[:arms])
        self.run = tp.Experiment(self.names, **options)
        self.kind = options.get("rewards", "normal")
        self.steps, self.labels, self.batch, self.late, self.units = steps, labels, batch, late, units
        self.by_arm, self.interaction, self.lift = by_arm, interaction, lift
        self.wrong, self.far = wrong, far
        self.actions, self.every, self.expose, self.warm = dict(actions or {}), every, expose, warm
        self.random = np.random.default_rng(5)
        self.pulls: list = []
        self.waiting: list = []
        self.found: dict = {"shares": [], "recommendations": [], "refused": []}

    def play(self):
        """Return the record of the whole script."""
        if self.warm:
            self.warm_start()
        for step in range(self.steps):
            self.step(step)
            if step in (3, 4, 9, 17, 18, 31, 44, self.steps // 2, self.steps - 1):
                self.look(step)
        return plain(self.found | self.end())

    def step(self, step):
        self.time += self.every
        for action in self.actions.get(step, ()):
            self.act(step, *action)
        try:
            self.ask(step)
        except errors.TideproofError as error:
            self.found["refused"].append([step, type(error).__name__])
        while len(self.waiting) > self.late:
            self.tell(step)

    def ask(self, step):
        label = (
            {"environment": f"day {step // 7}"} if self.labels and self.run.tide not in ("hidden",) else {}
        )
        if self.units:
            pulls = [self.run.ask(unit=f"unit {self.random.integers(40)}", **label)]
            if self.expose and step % self.expose:
                self.run.expose(pulls[0])
        elif self.batch > 1:
            pulls = self.run.ask(n=self.batch, **label) if step % self.batch == 0 else []
        else:
            pulls = [self.run.ask(**label)]
        self.pulls += pulls
        self.waiting += [(pull, self.reward(pull, step)) for pull in pulls]

    def reward(self, pull, step):
        """Draw the reward of a pull, always with as many random numbers."""
        i = ord(pull.arm) - ord("A") if pull.arm in "ABCDEFG" else 2.5
        noise, day = self.random.normal(), step // 7
        level = 0.1 * math.exp(self.lift * i + 0.4 * math.sin(3.0 * day))
        if self.kind == "conversions":
            return float(noise > 1.0 - min(1.5, 5.0 * level))
        if self.kind == "counts":
            return float(max(0, round(20.0 * level + noise)))
        if self.kind == "money":
            return max(0.0, 40.0 * level * (noise - 0.2)) if noise > 0.0 else 0.0
        reward = 8.0 + self.lift * i + 2.0 * math.sin(3.0 * day) + noise * (1.0 + self.by_arm * i) * 0.7
        reward += self.interaction * math.cos(7.0 * day + 2.0 * i)
        return reward + self.far * any(day == where and pull.arm in who for where, who in self.wrong)

    def tell(self, step):
        pull, reward = self.waiting.pop(0)
        try:
            self.run.tell(pull, reward)
        except errors.TideproofError as error:
            self.found["refused"].append([step, "tell", type(error).__name__])

    def act(self, step, what, *given):
        run = self.run
        try:
            if what == "correct":
                run.correct(self.pulls[given[0]], given[1])
            elif what == "tell":
                run.tell(self.pulls[-1], given[0])
            elif what == "summary":
                run.tell_summary(**given[0])
            elif what == "cancel_oldest":
                run.cancel(self.waiting.pop(0)[0])
            else:
                getattr(run, what)(*given)
        except errors.TideproofError as error:
            self.found["refused"].append([step, what, type(error).__name__])

    def warm_start(self):
        rows = [
            (arm, f"before {day}", i, day) for day in range(4) for i, arm in enumerate(self.names[:-1])
        ] * 3
        reward = [
            float((3 * i + day + number) % 3 == 0)
            if self.kind == "conversions"
            else 7.0 + 0.3 * i + day + 0.1 * (number % 5)
            for number, (_, _, i, day) in enumerate(rows)
        ]
        log = {"arm": [row[0] for row in rows], "day": [row[1] for row in rows], "reward": reward}
        self.run.warm_start(log, arm="arm", environment="day", reward="reward")

    def look(self, step):
        """Record a recommendation and shares."""
        given = {"environment": "day 1"} if self.labels and self.run.tide != "hidden" else {}
        self.found["shares"].append(
            [step, attempt(lambda: self.run.shares(**given)), attempt(lambda: self.run.shares(n=5, **given))]
        )
        prior = "flat" if step % 2 else "exchangeable"
        self.found["recommendations"].append(self.run.recommend(prior=prior).to_dict() | {"step": step})

    def end(self):
        run = self.run
        history = run.history()
        return {
            "arms": "".join(pull.arm for pull in self.pulls),
            "environments": len({pull.environment for pull in self.pulls}),
            "state": [
                run.remaining,
                run.done,
                run.tide,
                run.scale,
                len(run.pending_pulls()),
                run.reservations,
            ],
            "policy": run.policy.label,
            "history": [[row["arm"], row["n"], row["status"], row["reward"]] for row in history],
            "diagnostics": replace(run.diagnostics(), tide=None),
            "fit": attempt(lambda: _fit(run.fit())),
            "fit at all looks": attempt(lambda: run.fit(anytime=True, confidence=0.9).comparisons),
            "fit, common": attempt(lambda: run.fit(variance="common").arms),
        }


def _fit(fit):
    if hasattr(fit, "to_dict"):
        return fit.to_dict()
    numbers = {"now": fit.now, "covariance": fit.covariance, "noise": fit.noise, "jumps": fit.jumps}
    pairs = [attempt(lambda a=a, b=b: fit.contrast(a, b)) for a in fit.names[:2] for b in fit.names[1:]]
    return numbers | {
        "drift": fit.drift,
        "arms": fit.arms,
        "best": fit.best,
        "p_best": fit.p_best,
        "pairs": pairs,
    }
