"""Demonstration: a simulated shop whose rewards drift from day to day, served over HTTP.

Run it with python -m tideproof.serve.demo_shop (make serve-demo). The experiment compares two texts of a
banner, and a third that joins later. Rewards rise from day to day as a season begins. The third text runs on
good days only, so its raw mean is far ahead of a better text that also ran on poor days. The page can be
viewed without a key; changes need the printed key.
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
from tideproof.serve.app import make_app
from tideproof.serve.auth.access_control import cookie_name
from tideproof.serve.server import run
from tideproof.serve.service import Service
from tideproof.serve.service_settings import Settings

NAME = "summer banner"
ARMS = {"Calm": 5.0, "Bold": 5.5, "Playful": 5.2}  # mean reward of each arm without a shift
LATE_ARM, JOIN_DAY = "Playful", 8  # the arm that joins later, and the day on which it joins
NOISE = 1.4
DAYS = 40
VISITORS_PER_DAY = 40  # visitors per day
DAYS_BEFORE = 6  # days that are simulated before the page opens


class GuestMiddleware:
    """Middleware that gives requests without an API key the rights of a viewer, for a local demonstration."""

    def __init__(self, app: ASGIApp, service: Service, secret: str) -> None:
        self._app, self._service = app, service
        self._header = b"authorization", f"Bearer {secret}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one HTTP request; without API key and login session, it gets the rights of a viewer."""
        if scope["type"] == "http":
            request = Request(scope)
            session = request.cookies.get(cookie_name(request), "")
            keys = self._service.keys
            if "authorization" not in request.headers and not await self._service.call(
                keys.find_session_key, session
            ):
                scope = {**scope, "headers": [*scope["headers"], self._header]}
        await self._app(scope, receive, send)


def tide(day: int) -> float:
    """Return the shift of one day in the simulated shop: it rises over the season and at weekends."""
    return 4.0 / (1.0 + math.exp(-(day - 9.0) / 3.0)) + (0.6 if day % 7 in (5, 6) else 0.0)


def play(service: Service, day: int, generator: random.Random, pause: float = 0.0) -> None:
    """Simulate the visitors of the demonstration shop on one day; a blocking call."""
    shop = service.experiments.get(NAME)
    if day == JOIN_DAY:
        shop.add_arm(LATE_ARM, by="the shop")
    for _ in range(VISITORS_PER_DAY // 4):
        if service.stopping or shop.done:
            return
        pulls = shop.ask(n=4, environment=f"day {day + 1:02d}", by="the shop")
        rewards = [ARMS[pull.arm] + tide(day) + generator.gauss(0.0, NOISE) for pull in pulls]
        shop.tell_many(pulls, rewards, "the shop")
        service.notifier.notify(NAME)
        if pause:
            time.sleep(pause)


def demo(store: str, port: int, days: int, second: float, browser: bool) -> None:
    """Serve the demonstration shop until a signal stops it; a simulated day takes `second` seconds."""
    app = make_app(store, Settings(log_format="off"))
    service: Service = app.state.service
    secret, _ = service.keys.create_key("demo", "admin", None, None)
    prepare(app)
    generator = random.Random(3)
    for day in range(min(DAYS_BEFORE, days)):
        play(service, day, generator)

    def shop() -> None:
        with contextlib.suppress(TideproofError):  # raised when the store is closed at the end
            for day in range(DAYS_BEFORE, days):
                if service.stopping:
                    return
                play(service, day, generator, 4.0 * second / VISITORS_PER_DAY)

    def announce(address: str) -> None:
        page = f"{address}/experiments/{NAME.replace(' ', '%20')}"
        print(f"Demonstration shop: {page}")
        print(f"To create experiments of your own, log in at {address}/login with the key {secret}")
        print("Press Ctrl-C to stop. No data is kept.", flush=True)
        threading.Thread(target=shop, daemon=True).start()
        if browser:
            webbrowser.open(page)

    run(app, "127.0.0.1", port, announce)


def prepare(app: FastAPI) -> None:
    """Create the experiment of the demonstration shop, and let visitors without an API key view it."""
    service: Service = app.state.service
    viewer, _ = service.keys.create_key("guest", "viewer", None, None)
    app.add_middleware(GuestMiddleware, service=service, secret=viewer)
    first = [arm for arm in ARMS if arm != LATE_ARM]
    options = {"budget": DAYS * VISITORS_PER_DAY, "confidence": 0.95}
    service.experiments.create(NAME, first, options, "demo")
    service.experiments.get(NAME).note(
        f"The season begins, and rewards rise from day to day. {LATE_ARM} joins after day {JOIN_DAY}. "
        f"Compare its raw mean with its adjusted mean.",
        by="demo",
    )


def main() -> None:
    """Parse the command line and run the demonstration."""
    parser = argparse.ArgumentParser(
        description="Serve a simulated shop whose rewards shift from day to day."
    )
    parser.add_argument("--port", type=int, default=8080, help="port of the service")
    parser.add_argument("--days", type=int, default=DAYS, help="number of simulated days")
    parser.add_argument("--seconds", type=float, default=6.0, help="duration of a simulated day in seconds")
    parser.add_argument("--no-browser", action="store_true", help="do not open a browser")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        demo(
            f"sqlite:///{folder}/demo.db", options.port, options.days, options.seconds, not options.no_browser
        )


if __name__ == "__main__":
    main()
