"""A shop on asyncio: hundreds of visitors at once, one experiment, and an event loop that never stalls.

`ask`, `tell` and `cancel` take a fraction of a millisecond and may be called from the loop. What takes longer
(`recommend`, `fit`, `report`, `save`, `ask(n=...)` and `tell_many` of thousands) goes to a thread, so that
visitors are served meanwhile. Say the environment with every ask: threads have each their own "where it was".

    python examples/asyncio_shop.py
"""

from __future__ import annotations

import asyncio
import random
import time

import tideproof as tp

WORTH = {"A": 0.0, "B": 0.3, "C": 1.0}


async def visit(run: tp.Experiment, day: str, tide: float, chance: random.Random) -> None:
    """Show a visitor what the experiment asks for, and tell what came back, whenever that is."""
    pull = run.ask(environment=day)
    await asyncio.sleep(chance.random() * 0.05)
    if chance.random() < 0.1:  # gone without a word
        run.cancel(pull)
    else:
        run.tell(pull, WORTH[pull.arm] + tide + chance.gauss(0.0, 1.0))


async def beat(stalls: list[float]) -> None:
    """Note how late the loop comes back from a sleep of a millisecond, again and again."""
    while True:
        start = time.perf_counter()
        await asyncio.sleep(0.001)
        stalls.append(time.perf_counter() - start - 0.001)


async def shop(days: int = 5, visitors: int = 100, seed: int = 1) -> tuple[tp.Recommendation, list[float]]:
    """Run the shop; return what to select, and how late the loop was each time."""
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
    print(f"{len(late):,} beats, the latest {1e3 * max(late):.0f} ms late")
