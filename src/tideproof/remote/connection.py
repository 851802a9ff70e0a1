"""Implementation of `tp.connect`, which creates or joins an experiment on an HTTP service."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from urllib.parse import quote

from tideproof.errors import InputError, describe_value
from tideproof.experiment.lifecycle import checked_arms
from tideproof.experiment.snapshots.experiment_file import describe_policy
from tideproof.experiment.stopping.look_rule import checked_plan
from tideproof.policies.policy_registry import as_policy
from tideproof.remote.http_calls import ServiceClient, checked_url
from tideproof.remote.remote_experiment import RemoteExperiment


def connect(
    url: str,
    key: str | None = None,
    name: str | None = None,
    arms: Iterable[str] | None = None,
    **options: Any,
) -> RemoteExperiment:
    """Create an experiment on an HTTP service, or join an existing one.

    It works as `Experiment.open` does for a database.

    Parameters
    ----------
    url
        URL of a service that `tideproof serve` started, such as `"http://127.0.0.1:8080"`, or of one of its
        experiments, such as `"http://127.0.0.1:8080/v1/experiments/prices"`.
    key
        API key; by default the environment variable `TIDEPROOF_KEY`.
    name
        Name of the experiment, unless the URL contains it.
    arms
        Arms of a new experiment; None joins an existing one. If the experiment exists, given arms and options
        must agree with it.
    **options
        Other options of a new experiment, such as `budget` and `policy`; see `Experiment`.
    """
    address, named = checked_url(url)
    if (name is None) == (named is None):
        raise InputError(
            f"give the name of the experiment either as name= or in the URL "
            f"({address}/v1/experiments/NAME), "
            + ("but it is missing" if name is None else f"not both: {describe_value(name)} and {named!r}")
        )
    wanted = str(name if named is None else named)
    calls = ServiceClient(address, key)
    try:
        run = RemoteExperiment(calls, wanted, (url, key, name))
        if arms is None:
            if options:
                raise InputError(
                    f"options such as {next(iter(options))} can be set only when you create an experiment "
                    f"with arms=[…]"
                )
            calls.get(f"/v1/experiments/{quote(wanted, safe='')}")
        else:
            calls.post("/v1/experiments", {"name": wanted, "arms": checked_arms(arms)} | _as_json(options))
        return run
    except BaseException:
        calls.close()
        raise


def _as_json(options: dict[str, Any]) -> dict[str, Any]:
    """Return the options of an experiment in the form that the service accepts as JSON."""
    if "clock" in options:
        raise InputError("clock cannot be set: the service uses its own clock")
    if options.get("looks") is not None:
        options = options | {"looks": list(checked_plan(options["looks"]))}
    policy = options.get("policy")
    if policy is None or isinstance(policy, str):
        return options
    description = describe_policy(as_policy(policy))
    if description.get("own"):
        raise InputError(
            f"the policy {description['name']!r} is defined in your program, but a service can run only "
            f"policies that are registered on its machine"
        )
    return options | {"policy": description["name"], "policy_options": description["options"]}
