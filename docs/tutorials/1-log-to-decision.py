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
# # A log, from CSV to decision
#
# A shop tried three delivery fees for four weeks. Each visitor saw one of them; the file says which, on which day, and what they
# spent. Marketing moved traffic between fees as it went along, which is what makes the plain average lie.
#
# First the file, as an analyst would get it.

# %%
import csv

import numpy as np

import tideproof as tp

random = np.random.default_rng(11)
worth = {"free": 20.0, "2.90": 21.0, "4.90": 19.5}  # what a visitor is worth; the shop does not know it
with open("visits.csv", "w", newline="") as file:
    rows = csv.writer(file)
    rows.writerow(["fee", "day", "spent"])
    for day in range(28):
        tide = 8.0 - 0.6 * day + random.normal(0, 1.5)  # the season fades
        shares = [0.7, 0.15, 0.15] if day < 14 else [0.15, 0.7, 0.15]
        for fee in random.choice(list(worth), 60, p=shares):
            rows.writerow([fee, f"2026-03-{day + 1:02}", round(worth[fee] + tide + random.normal(0, 4), 2)])

print(open("visits.csv").read()[:120])

# %% [markdown]
# ## What the average says
#
# Free delivery looks best by far: it ran on the good days.

# %%
fit = tp.fit("visits.csv", arm="fee", environment="day", reward="spent")
fit.averages

# %% [markdown]
# ## What is left when the days are taken out
#
# `raw_bias` above is what the days did to each average. `fit` shows the arms without it, and says who wins.

# %%
fit

# %%
fit.plot()

# %% [markdown]
# ## Should I believe it?
#
# * Does one shift a day describe all fees? A small `p` would say no.
# * Does the winner hang on one day? `influence` leaves each out in turn.

# %%
print("additivity: p =", round(fit.additivity().p, 3))
print("winner without any one day:", set(fit.influence()["best"]))

# %% [markdown]
# ## By how much is it better than what we have?
#
# All intervals hold at once. `lift` is the difference in proportion to the control.

# %%
tp.against(fit, "free")

# %% [markdown]
# ## The decision
#
# `verdict` is the sentence, `decision` the same for a program. The page for everybody else comes from
#
# ```sh
# tideproof analyze visits.csv --arm fee --environment day --reward spent --control free --html report.html
# ```
#
# Exit code 0 means that there is a winner, 3 that it is still open.

# %%
print(fit.verdict)
fit.decision.standing

# %% [markdown]
# Next: [what "can be best" means](../concepts/contrast.md#can-be-best), [a live test](2-live-test.py), or
# [days that multiply](5-days-that-multiply.py).
