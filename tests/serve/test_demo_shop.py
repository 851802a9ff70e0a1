"""The demonstration shop as its command runs it: days before the page opens, the rest beside it, guests who look."""

import math
import re
import sys
import time
import webbrowser
from collections import Counter
from types import SimpleNamespace

import pytest

from serve.service_clients import Here
from tideproof.serve import demo_shop

PAGE = "/experiments/summer%20banner"
MINE = {"name": "mine", "arms": ["A", "B"]}


@pytest.fixture
def begin(monkeypatch):
    """What runs the command with `check(app, announce)` in place of the server; it returns what happened outside."""
    seen = SimpleNamespace(opened=[], pauses=[], addresses=[])
    monkeypatch.setattr(webbrowser, "open", seen.opened.append)
    monkeypatch.setattr(demo_shop, "time", SimpleNamespace(sleep=seen.pauses.append))

    def begin(check, *arguments):
        def run(app, host, port, announce):
            seen.addresses.append((host, port))
            try:
                check(app, announce)
            finally:
                app.state.service.close()

        monkeypatch.setattr(demo_shop, "run", run)
        monkeypatch.setattr(sys, "argv", ["demo_shop", *arguments])
        demo_shop.main()
        return seen

    return begin


def rewards_of_days(app):
    return Counter(row["environment"] for row in app.state.service.experiments.get("summer banner").history())


def wait_until(true):
    end = time.monotonic() + 20.0
    while not true():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_six_days_are_over_when_the_page_opens_and_the_others_follow(begin):
    every_day = {f"day {day:02d}": 40 for day in range(1, 11)}

    def check(app, announce):
        assert rewards_of_days(app) == dict.fromkeys(list(every_day)[:6], 40)
        announce("http://here:9")
        wait_until(lambda: sum(rewards_of_days(app).values()) == 400)
        assert rewards_of_days(app) == every_day
        shop = app.state.service.experiments.get("summer banner")
        assert (shop.budget, shop.arms) == (1600, ("Calm", "Bold", "Playful"))

    seen = begin(check, "--days", "10", "--seconds", "2", "--port", "9")
    assert seen.addresses == [("127.0.0.1", 9)]
    assert seen.opened == [f"http://here:9{PAGE}"]
    wait_until(lambda: len(seen.pauses) == 40)  # the shop's thread pauses after the last reward, too
    assert seen.pauses == pytest.approx([0.2] * 40)  # ten groups of four visitors on each of four days


def test_few_days_are_all_over_at_once_and_no_browser_opens_unasked(begin):
    def check(app, announce):
        announce("http://here:9")
        assert sum(rewards_of_days(app).values()) == 3 * 40

    seen = begin(check, "--days", "3", "--no-browser")
    assert seen.addresses == [("127.0.0.1", 8080)]
    assert seen.opened == seen.pauses == []


def test_guests_look_and_the_printed_key_changes(begin, capsys):
    def check(app, announce):
        announce("http://here:9")
        said = capsys.readouterr().out
        assert f"http://here:9{PAGE}" in said
        assert "http://here:9/login" in said
        guest = Here(app, "")
        owner = guest.other(re.search(r"with the key (\S+)", said)[1])
        assert guest.get(PAGE).status_code == 200
        assert guest.post("/v1/experiments", MINE).status_code == 403
        assert owner.post("/v1/experiments", MINE).status_code == 201
        stranger = guest.other("not a key of this service")
        assert stranger.get("/v1/experiments").status_code == 401
        owner.close()
        stranger.close()
        guest.close()

    begin(check, "--days", "1", "--no-browser")


def test_the_tide_is_an_s_curve_with_weekends():
    """From 0 to 4 and halfway on day 9; weekends add 0.6."""
    weekends = {day: 0.6 if day in (5, 6, 12, 13, 19, 20) else 0.0 for day in range(21)}
    found = [demo_shop.tide(day) - weekend for day, weekend in weekends.items()]
    assert found == pytest.approx([2.0 + 2.0 * math.tanh((day - 9) / 6.0) for day in range(21)], rel=1e-12)
    assert demo_shop.tide(9) == 2.0
    assert demo_shop.tide(12) == pytest.approx(4.0 * math.e / (1.0 + math.e) + 0.6, rel=1e-12)


def test_days_and_seconds_without_options(monkeypatch):
    given = []
    monkeypatch.setattr(demo_shop, "demo", lambda *options: given.append(options))
    monkeypatch.setattr(sys, "argv", ["demo_shop"])
    demo_shop.main()
    assert [options[1:] for options in given] == [(8080, 40, 6.0, True)]
