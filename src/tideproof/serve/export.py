"""An experiment as a file that somebody else may have."""

from __future__ import annotations

from tideproof.live import events as e
from tideproof.live.experiment import Experiment
from tideproof.live.saving import text


def exported(run: Experiment) -> str:
    """Return what `Experiment.load` reads, without what units are hashed with."""
    happened = [each._replace(salt="") if isinstance(each, e.Salted) else each for each in run.events()]
    return text(happened, None)
