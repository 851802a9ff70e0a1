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
# # A live test with late rewards and a stop rule
#
# Four subject lines. A mail goes out today, the order comes some days later or never, and nobody wants to run the test longer than
# necessary. `confidence=0.95` ends it as soon as one line is the best with that confidence, however often one looks.

# %%
import numpy as np

import tideproof as tp

random = np.random.default_rng(3)
worth = {  # nobody knows it
    "plain": 5.0,
    "question": 5.3,
    "number": 6.5,  # short: 7.5
    "emoji": 4.8,
}
run = tp.Experiment(list(worth), confidence=0.95, budget=6_000, seed=1)
run

# %% [markdown]
# ## Ask today, tell when it comes
#
# Each day is an environment. Rewards come up to three days late and in any order: `tell` takes them whenever they come, counts
# them for the day of the mail, and a reward told twice is taken once.

# %%
late = []  # (the day on which it is known, pull, reward)
day = 0
while not run.done and day < 60:
    tide = 3.0 * np.sin(day / 5.0) + random.normal(0, 1)
    pulls = run.ask(n=50, environment=f"day {day}")
    late += [(day + random.integers(4), pull, worth[pull.arm] + tide + random.normal(0, 3)) for pull in pulls]
    for item in [item for item in late if item[0] <= day]:
        run.tell(item[1], item[2])
        late.remove(item)
    day += 1
print(
    f"stopped after {day} days, {run.diagnostics().asked} mails, {len(run.pending_pulls())} rewards still out"
)

# %% [markdown]
# ## What it says
#
# `recommend()` is one sentence, `sure` whether the rule has spoken. What is still out may be told after the stop; the arm stays
# the one it was.

# %%
for _, pull, reward in late:
    run.tell(pull, reward)
print(run.recommend().arm, run.recommend().sure)
run.recommend()

# %%
run.plot()

# %% [markdown]
# ## What looks wrong?
#
# Forgotten labels, a day that never changes, rewards far outside: `diagnostics()` says so.

# %%
run.diagnostics()

# %% [markdown]
# ## Keep it
#
# A file for one process; a store for several, where a crash loses nothing ([two servers](../recipes/shop.md#two-servers)).

# %%
run.save("subjects.json")
tp.Experiment.load("subjects.json").recommend().arm

# %% [markdown]
# Next: [when to stop](../concepts/stopping.md), [all of a live test](../live.md), [a service for a team](../serve.md).
