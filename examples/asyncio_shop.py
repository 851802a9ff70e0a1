"""A shop on asyncio: hundreds of simultaneous visitors, one experiment, and an event loop that never blocks.

`ask`, `tell` and `cancel` take a fraction of a millisecond and may be called from the event loop. Slower
calls (`recommend`, `fit`, `report`, `save`, `ask(n=...)` and `tell_many` of thousands) run in a thread, so
that visitors are served meanwhile. Pass the environment to every ask, because each thread has a current
environment of its own.

    python examples/asyncio_shop.py
"""

from __future__ import annotations

import asyncio
import random
import time

import tideproof as tp

WORTH = {"A": 0.0, "B": 0.3, "C": 1.0}


async def visit(run: tp.Experiment, day: str, tide: float, chance: random.Random) -> None:
    """Show a visitor the arm that the experiment asks for, and report the reward when it arrives."""
    pull = run.ask(environment=day)
    await asyncio.sleep(chance.random() * 0.05)
    if chance.random() < 0.1:  # the visitor leaves without a response
        run.cancel(pull)
    else:
        run.tell(pull, WORTH[pull.arm] + tide + chance.gauss(0.0, 1.0))


async def beat(stalls: list[float]) -> None:
    """Record again and again how late the loop returns from a sleep of a millisecond."""
    while True:
        start = time.perf_counter()
        await asyncio.sleep(0.001)
        stalls.append(time.perf_counter() - start - 0.001)


async def shop(days: int = 5, visitors: int = 100, seed: int = 1) -> tuple[tp.Recommendation, list[float]]:
    """Run the shop; return the recommendation, and the delays of the event loop."""
    run = tp.Experiment(list(WORTH), budget=None, policy="linlucb", seed=seed)
    chance, stalls = random.Random(seed), list[float]()
    watching = asyncio.create_task(beat(stalls))
    for day in range(days):
        tide = chance.uniform(0.0, 20.0)
        visits = [visit(run, f"day {day}", tide, chance) for _ in range(visitors)]
        await asyncio.gather(*visits)
    found = await asyncio.to_thread(run.recommend)
    watching.cancel()
    return found, stalls


if __name__ == "__main__":
    recommended, late = asyncio.run(shop())
    print(recommended)
    print(f"{len(late):,} measurements of the event loop, the longest delay {1e3 * max(late):.0f} ms")
