# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Write your own policy, and judge it
#
# A policy says which arm to pull next. This one plays the leader of the fit, and with probability epsilon the arm that was pulled
# least. It runs live and in the simulator, compiled, from the same functions.

# %%
from typing import NamedTuple

import tideproof as tp
from tideproof.plugin import (
    OLS,
    Policy,
    Start,
    argmax,
    kernel,
    least_pulled,
    require_finite,
    require_whole_number,
    start_arm,
    start_tell,
    started,
    uniform,
)


class Params(NamedTuple):
    n0: int
    epsilon: float


class State(NamedTuple):
    start: Start


def configure(arms, horizon, selection, *, n0=2, epsilon=0.5):
    return Params(require_whole_number("n0", n0, 1), require_finite("epsilon", epsilon, 0.0))


# %% [markdown]
# ## Two kernels
#
# `ask` chooses and must not write, `tell` writes. In the beginning Algorithm 1 plays every arm and connects them, so that they can
# be compared (`start_arm`); after that the policy decides.


# %%
@kernel
def ask(params, state, data, slot, draw):
    if not started(data, params.n0):
        return start_arm(state.start, data, slot, params.n0, -1, draw)
    if uniform(draw, data.pulls.size) < params.epsilon:
        return least_pulled(data.pulls, draw)
    return argmax(data.fit.mu, draw)


@kernel
def tell(params, state, data, slot, arm, n, draw):
    start_tell(state.start, data, slot, arm, n)


mine = Policy(
    name="mine",
    idea="the leader of the fixed-effects fit, or now and then a least-pulled arm",
    reference="Sutton, Barto 2018",
    State=State,
    configure=configure,
    ask=ask,
    tell=tell,
    minimum=lambda arms, params: arms * params.n0,
    selections=(OLS,),
    reads=frozenset({"fit"}),
    needs_horizon=False,
    shift_aware=True,
)

# %% [markdown]
# ## One run, step by step
#
# `replay` runs interpreted: a breakpoint in `ask` stops there.

# %%
tp.replay(tp.mdm(3), mine, seed=1, budget=12)

# %% [markdown]
# ## Against others, in the same worlds
#
# Common random numbers: every policy meets the same tides and the same noise.

# %%
study = tp.simulate(
    tp.slippage(5, scenario="cannot-sample-all-arms"),
    [mine, tp.policy(mine, label="mine, epsilon 0.2", epsilon=0.2), "contrast", "linlucb", "round-robin"],
    budgets=[50, 100, 200, 300],
    replications=20_000,  # short: 100
    seed=1,
)
study.plot()

# %%
gap = study.difference("mine", "contrast")
for budget, low, high in zip(study.budgets, gap.low, gap.high, strict=True):
    print(f"{budget:4} pulls: wrong more often than contrast by {low:+.4f} to {high:+.4f}")

# %% [markdown]
# ## Judged on worlds that it was not tuned on
#
# `tp.suite(mine)` plays it on all held-out worlds against six rivals, `tideproof simulate --suite --policies mine` does once it is
# installed. For a first look, `tp.suite(mine, replications=200, seed=1)` takes a minute. After its table it says
#
# ```text
# mine makes 2.721 times as many errors as the best rival of each world (geometric mean, 22 worlds).
# It is clearly worse than the best rival (lower 99.9 % confidence bound of the ratio above 1.25) in no world.
# In 22 of 22 worlds, the best rival made fewer than 400 errors, too few for this comparison.
# ```
#
# The number is the `score`: below 1 would beat even somebody who knew for each world which rival to take. Too few errors
# are the price of 200 replications; without the option every world has as many as it needs.
#
# ## Is it a good citizen?
#
# The contract that ours pass, too: compiled equals interpreted to the last bit, `ask` only reads, late rewards, resuming, and
# that shifts change no choice.

# %%
from tideproof.testing import policy_checks

checks = list(policy_checks(mine))
for check in checks:  # short: checks[:2]
    check()
print(len(checks), "checks")

# %% [markdown]
# Next: [install it as a package, debug it](../plugins.md), [how policies are judged](../research.md#judge-a-policy),
# [all policies](../policies/README.md).
