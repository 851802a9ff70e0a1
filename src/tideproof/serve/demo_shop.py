"""A shop whose days drift, served: python -m tideproof.serve.demo_shop (make serve-demo).

Two texts of a banner, and a third that comes later. The season begins: each day brings more than the one
before. The newcomer has run on good days only, so that its raw mean is far ahead of a better text that began
on poor ones. Whoever looks needs no key; to change something, log in with the one printed.
"""

from __future__ import annotations

import argparse
import contextlib
import math
import random
import tempfile
import threading
import time
import webbrowser

from fastapi import FastAPI, Request
from starlette.types import ASGIApp, Receive, Scope, Send

from tideproof.errors import TideproofError
from tideproof.serve.app import make
from tideproof.serve.auth.access_control import cookie_name
from tideproof.serve.server import run
from tideproof.serve.service import Service
from tideproof.serve.service_settings import Settings

NAME = "summer banner"
ARMS = {"Calm": 5.0, "Bold": 5.5, "Playful": 5.2}  # what each brings on the first day
LATE, JOINS = "Playful", 8  # the newcomer, and after how many days it comes
NOISE = 1.4
DAYS = 40
VISITS = 40  # a day
BEHIND = 6  # days that have passed when the page opens


class Guest:
    """Lets whoever has no key look, and nothing else: for a demonstration on this machine."""

    def __init__(self, app: ASGIApp, service: Service, secret: str) -> None:
        self._app, self._service = app, service
        self._header = b"authorization", f"Bearer {secret}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, as a viewer if it says nothing else."""
        if scope["type"] == "http":
            request = Request(scope)
            session = request.cookies.get(cookie_name(request), "")
            keys = self._service.keys
            if "authorization" not in request.headers and not await self._service.call(
                keys.of_session, session
            ):
                scope = {**scope, "headers": [*scope["headers"], self._header]}
        await self._app(scope, receive, send)


def tide(day: int) -> float:
    """Return how far a day lifts all texts: a season that begins, and weekends."""
    return 4.0 / (1.0 + math.exp(-(day - 9.0) / 3.0)) + (0.6 if day % 7 in (5, 6) else 0.0)


def play(service: Service, day: int, chance: random.Random, pause: float = 0.0) -> None:
    """Let the visitors of one day come: blocking."""
    shop = service.experiments.get(NAME)
    if day == JOINS:
        shop.add_arm(LATE, by="the shop")
    for _ in range(VISITS // 4):
        if service.stopping or shop.done:
            return
        pulls = shop.ask(n=4, environment=f"day {day + 1:02d}", by="the shop")
        rewards = [ARMS[pull.arm] + tide(day) + chance.gauss(0.0, NOISE) for pull in pulls]
        shop.tell_many(pulls, rewards, "the shop")
        service.feed.news(NAME)
        if pause:
            time.sleep(pause)


def demo(store: str, port: int, days: int, second: float, browser: bool) -> None:
    """Serve the shop until a signal comes; a day takes so many seconds."""
    app = make(store, Settings(log="off"))
    service: Service = app.state.service
    secret, _ = service.keys.mint("demo", "admin", None, None)
    prepare(app)
    chance = random.Random(3)
    for day in range(min(BEHIND, days)):
        play(service, day, chance)

    def shop() -> None:
        with contextlib.suppress(TideproofError):  # a store that is closed: it is over
            for day in range(BEHIND, days):
                if service.stopping:
                    return
                play(service, day, chance, 4.0 * second / VISITS)

    def begun(address: str) -> None:
        page = f"{address}/experiments/{NAME.replace(' ', '%20')}"
        print(f"A shop whose days drift: {page}")
        print(f"To begin experiments of your own, log in at {address}/login with {secret}")
        print("Ctrl-C ends it; nothing is kept.", flush=True)
        threading.Thread(target=shop, daemon=True).start()
        if browser:
            webbrowser.open(page)

    run(app, "127.0.0.1", port, begun)


def prepare(app: FastAPI) -> None:
    """Begin the shop's experiment, and let anybody look."""
    service: Service = app.state.service
    viewer, _ = service.keys.mint("guest", "viewer", None, None)
    app.add_middleware(Guest, service=service, secret=viewer)
    first = [arm for arm in ARMS if arm != LATE]
    options = {"budget": DAYS * VISITS, "confidence": 0.95}
    shop, _ = service.experiments.create(NAME, first, options, "demo")
    shop.note(
        f"The season begins: days get better. {LATE} joins after day {JOINS}. Watch the raw mean.", by="demo"
    )


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description="A shop whose days drift, on a page that moves.")
    parser.add_argument("--port", type=int, default=8080)
    parser.add_argument("--days", type=int, default=DAYS)
    parser.add_argument("--seconds", type=float, default=6.0, help="that a day takes")
    parser.add_argument("--no-browser", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        demo(f"sqlite:///{folder}/demo.db", given.port, given.days, given.seconds, not given.no_browser)


if __name__ == "__main__":
    main()
