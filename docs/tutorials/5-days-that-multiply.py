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
# # A conversion test with days that multiply
#
# Two checkouts. On a good day everybody buys more often, by the same *factor*: 2 % becomes 4 %, 3 % becomes 6 %. The difference between
# variants is then not the same on all days (1 point, then 2), but their ratio is.

# %%
import numpy as np

import tideproof as tp

random = np.random.default_rng(21)
rate = {"old": 0.030, "new": 0.036}  # 20 % better; nobody knows it
columns = {"checkout": [], "day": [], "visitors": [], "orders": []}
for day in range(21):
    factor = np.exp(random.normal(0, 0.6))
    split = 0.8 if factor > 1.0 else 0.3  # more of the old one on good days
    for checkout, share in (("old", split), ("new", 1.0 - split)):
        visitors = round(40_000 * share)
        columns["checkout"].append(checkout)
        columns["day"].append(day + 1)
        columns["visitors"].append(visitors)
        columns["orders"].append(random.binomial(visitors, rate[checkout] * factor))
tp.Table(columns)

# %% [markdown]
# ## The plain rates
#
# The old checkout was shown on good days. Its rate looks far better.

# %%
for checkout in rate:
    pairs = zip(columns["checkout"], columns["orders"], columns["visitors"], strict=True)
    mine = [(orders, visitors) for name, orders, visitors in pairs if name == checkout]
    print(checkout, f"{100 * sum(o for o, _ in mine) / sum(v for _, v in mine):.2f} %")

# %% [markdown]
# ## Days taken out, by ratios
#
# A row is a day: orders among visitors. `scale="auto"`, the default, asks the data whether differences, ratios or odds are the
# same on all days, and says what it found.

# %%
fit = tp.fit(columns, arm="checkout", environment="day", successes="orders", n="visitors")
print(fit.scale, "-", fit.choice.sentence)
fit

# %%
fit.plot()

# %%
lift = fit.contrast("new", "old")
print(f"new is better by {100 * lift.estimate:.1f} % ({100 * lift.low:.1f} to {100 * lift.high:.1f})")

# %% [markdown]
# ## What if the wrong scale is forced?
#
# By differences the same log shows shifts that are not the same for both variants: the test says so.

# %%
forced = tp.fit(
    columns, arm="checkout", environment="day", successes="orders", n="visitors", scale="difference"
)
print(
    f"difference: {100 * forced.contrast('new', 'old').estimate:.2f} points; additivity p = {forced.additivity().p:.2g}"
)

# %% [markdown]
# ## Sales, not conversions
#
# Amounts of money work the same way: `tideproof analyze log.csv --reward sales` finds out whether good days add to sales or multiply
# them; `--scale ratio` says it beforehand.
#
# ## Live
#
# `rewards="conversions"` compares by ratios, and `lease=` is the window: how many seconds one waits for an order, here three days.
# Each ask says its day: `run.ask(unit=visitor, environment="monday")`.

# %%
run = tp.Experiment(["old", "new"], rewards="conversions", lease=3 * 86_400.0, budget=100_000, seed=1)
print(run.scale)

# %% [markdown]
# Next: [how many visitors do I need](../guide.md#before-a-test-how-many-for-how-long), [conversions, live](../experiment.md#conversions-by-ratios),
# [ads](../recipes/ads.md).
