"""`tp.connect`: an experiment of a service."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from urllib.parse import quote

from tideproof.errors import InputError
from tideproof.experiment.controls import checked_arms
from tideproof.experiment.snapshots.experiment_file import described
from tideproof.policies.policy_registry import as_policy
from tideproof.remote.http_calls import Calls, checked_url
from tideproof.remote.remote_experiment import RemoteExperiment


def connect(
    url: str,
    key: str | None = None,
    name: str | None = None,
    arms: Iterable[str] | None = None,
    **options: Any,
) -> RemoteExperiment:
    """Create an experiment of a service, or join the one of that name: as `Experiment.open`, over HTTP.

    Parameters
    ----------
    url
        Of a service that `tideproof serve` started, `"http://127.0.0.1:8080"`, or of an experiment there,
        `"http://127.0.0.1:8080/v1/experiments/prices"`.
    key
        What it is to be let in with; by default the environment variable `TIDEPROOF_KEY`.
    name
        Of the experiment, where the URL does not say it.
    arms
        As for a new one; None to join. Arms and options that are given must be those it has.
    **options
        The others of a new one: `budget`, `policy` and so on.
    """
    where, named = checked_url(url)
    if (name is None) == (named is None):
        raise InputError(f"which experiment? tp.connect({where!r}, key, name), or its own URL")
    wanted = str(name if named is None else named)
    calls = Calls(where, key)
    try:
        run = RemoteExperiment(calls, wanted, (url, key, name))
        if arms is None:
            if options:
                raise InputError(f"{next(iter(options))} is for a new experiment: it needs arms, too")
            calls.get(f"/v1/experiments/{quote(wanted, safe='')}")
        else:
            calls.post("/v1/experiments", {"name": wanted, "arms": checked_arms(arms)} | _plain(options))
        return run
    except BaseException:
        calls.close()
        raise


def _plain(options: dict[str, Any]) -> dict[str, Any]:
    """Return options as JSON has them."""
    if "clock" in options:
        raise InputError("clock: the service says the time")
    policy = options.get("policy")
    if policy is None or isinstance(policy, str):
        return options
    said = described(as_policy(policy))
    if said.get("own"):
        raise InputError(
            f"the policy {said['name']!r} is your own: a service has only those registered there"
        )
    return options | {"policy": said["name"], "policy_options": said["options"]}
