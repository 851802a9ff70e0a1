"""Time zones: the local date is the environment of asks without a label."""

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

import tideproof as tp

HOUR = 3600.0
NOON = 1_700_000_000.0 // (24 * HOUR) * 24 * HOUR + 12 * HOUR  # 2023-11-14, noon in London


def somewhere(zone, hours=(0.0, 12.0)):
    now = [NOON]
    run = tp.Experiment(["A", "B"], budget=20, time_zone=zone, clock=lambda: now[0])
    labels = []
    for hour in hours:
        now[0] = NOON + hour * HOUR
        pull = run.ask()
        run.tell(pull, 1.0)
        labels.append(pull.environment)
    return run, labels


@pytest.mark.parametrize(
    ("zone", "labels"),
    [
        ("UTC", ["2023-11-14", "2023-11-15"]),
        ("Asia/Tokyo", ["2023-11-14", "2023-11-15"]),
        ("Pacific/Auckland", ["2023-11-15", "2023-11-15"]),
        ("America/New_York", ["2023-11-14", "2023-11-14"]),
    ],
)
def test_the_local_date_is_the_default_environment(zone, labels):
    run, found = somewhere(zone)
    assert found == labels
    assert run.tide in ("auto", "labels")  # a date is a label
    assert run.ask(environment="fair").environment == "fair"
    assert run.ask(unit="ann").environment == labels[-1]
    assert sum(run.shares().values()) == pytest.approx(1.0)


def test_files_and_stores_keep_the_time_zone(tmp_path):
    run, _ = somewhere("America/New_York")
    run.save(tmp_path / "run.json")
    again = tp.Experiment.load(tmp_path / "run.json")
    assert again.ask().environment == datetime.now(ZoneInfo("America/New_York")).date().isoformat()
    url = f"sqlite:///{tmp_path}/shop.db"
    tp.Experiment.open(url, "x", ["A", "B"], time_zone="UTC").close()
    with pytest.raises(tp.errors.InputError, match="time_zone='UTC', not 'Asia/Tokyo'"):
        tp.Experiment.open(url, "x", time_zone="Asia/Tokyo")


@pytest.mark.parametrize(
    ("zone", "said"), [("Mars", "unknown time zone 'Mars'"), (2, "not 2"), ("", "unknown time zone ''")]
)
def test_unknown_time_zones_are_refused(zone, said):
    with pytest.raises(tp.errors.InputError, match=said):
        tp.Experiment(["A", "B"], time_zone=zone)
