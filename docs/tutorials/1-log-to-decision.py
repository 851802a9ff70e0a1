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
from pathlib import Path

import numpy as np

import tideproof as tp

random = np.random.default_rng(11)
worth = {"free": 20.0, "2.90": 21.0, "4.90": 19.5}  # the shop does not know it
with open("log.csv", "w", newline="") as file:
    rows = csv.writer(file)
    rows.writerow(["variant", "day", "sales"])
    for day in range(28):
        tide = 8.0 - 0.6 * day + random.normal(0, 1.5)  # the season fades
        shares = [0.7, 0.15, 0.15] if day < 14 else [0.15, 0.7, 0.15]
        for fee in random.choice(list(worth), 60, p=shares):
            sales = worth[fee] + tide + random.normal(0, 4)
            rows.writerow([fee, f"2026-03-{day + 1:02}", round(sales, 2)])

print(Path("log.csv").read_text()[:132])

# %% [markdown]
# ## One command
#
# ```sh
# tideproof analyze log.csv --arm variant --environment day --reward sales
# ```
#
# prints
#
# ```text
# 2.90 is best on average over environments like these (95 % confidence): +1.3 over
# free, the runner-up (95 % confidence interval: +0.7 to +1.9; lift +6.2 %); best with
# probability > 0.999 (exchangeable prior).
#
#                                              prob.
#                                     can         of                raw
#         adjusted    95 % interval   be       being     raw      minus
#  arm        mean      of the mean   best      best    mean   adjusted   rewards
#  ──────────────────────────────────────────────────────────────────────────────
#  2.90      21.45   21.12 to 21.79   yes    > 0.999   18.35      -3.10       717
#  free      20.19   19.86 to 20.53   no     < 0.001   23.24      +3.05       719
#  4.90       19.4     18.8 to 19.9   no     < 0.001    19.5       +0.1       244
#
# Warning: The arms' shares of the observations differ between environments (p <
# 1e-6).
# Adjusted means account for different shares; raw means do not. If arms were assigned
# in fixed shares, find out why these changed; if by an adaptive policy (a bandit),
# use --adaptive.
# 1,680 rewards of 3 arms in 28 environments.
# Tests of the scale (whether shifts add or multiply) reject neither differences nor
# ratios; arms are compared by differences. The verdict and the intervals of
# comparisons are also valid if arms are compared by ratios.
# free has the best raw mean. 2.90 has the best period-weighted mean (an average of
# its means in the environments, each weighted by all rewards there).
# ```
#
# The first line is the answer: 2.90 is best, and each of the others is excluded (*can be best*: no). "On average over environments like these" means
# that this also holds on average over days to come, if they resemble these 28. The rest of this page shows how the answer is
# computed, in Python.
#
# ## What the average says
#
# Free delivery looks best by far: it ran on the good days.

# %%
fit = tp.fit("log.csv", arm="variant", environment="day", reward="sales")
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
# `lift` is the difference in proportion to the control. The interval of 2.90 is a little wider here than in the sentence at the top:
# there it is one comparison by itself, here the intervals of all fees against `free` hold at once. `simultaneous=False` asks for
# intervals that hold one by one.

# %%
tp.against(fit, "free")

# %% [markdown]
# ## The decision
#
# `verdict` is the sentence, `decision` the same for a program. The page for everybody else comes from
#
# ```sh
# tideproof analyze log.csv --html report.html
# ```
#
# and with `--control free` it has the comparison above, too. Exit code 0 means that there is a winner, 5 that an
# arm is the best in the observed environments only, and 3 that several arms may be the best.

# %%
print(fit.verdict)
fit.decision.standing

# %% [markdown]
# Next: [what "can be best" means](../concepts/contrast.md#can-be-best), [a live test](2-live-test.py), or
# [days that multiply](5-days-that-multiply.py).
