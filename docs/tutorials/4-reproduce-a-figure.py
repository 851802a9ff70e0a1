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
# # Reproduce a figure
#
# One panel of the paper (Srisawad, Branke, Tran-Thanh, ECAI 2024): five arms whose means fall by half a standard deviation each, environments
# too short to sample all arms, and shifts of up to 20 standard deviations. How often is the wrong arm selected?

# %%
import tideproof as tp

world = tp.mdm(5, scenario="cannot-sample-all-arms")
world

# %% [markdown]
# ## The study
#
# The paper's LinLUCB, round robin and 0-1, and our `contrast`. The paper has 100,000 replications; a fifth will do for a look.

# %%
study = tp.simulate(
    world,
    [
        tp.policy("linlucb", label="LinLUCB"),
        tp.policy("round-robin", label="round robin"),
        tp.policy("zero-one", label="0-1"),
        "contrast",
    ],
    budgets=[30, 50, 100, 200, 300, 400, 500],
    replications=20_000,  # short: 200
    seed=1,
)
study.plot()

# %% [markdown]
# ## What the paper claims, as a number with limits
#
# LinLUCB errs less often than round robin. Both met the same worlds, so the difference is known better than either.

# %%
gap = study.difference("LinLUCB", "round robin")
for budget, low, high in zip(study.budgets, gap.low, gap.high, strict=True):
    print(f"{budget:4} pulls: {low:+.4f} to {high:+.4f}")

# %%
study

# %% [markdown]
# ## All of it
#
# Every figure, and a verdict on every sentence the paper claims, comes from one command; `--quick` takes 2,000 replications:
#
# ```sh
# tideproof reproduce --quick --out reproduction
# ```
#
# [The results of a full run](../paper/README.md), and [where the printed claims do not hold](../paper/ledger.md).
