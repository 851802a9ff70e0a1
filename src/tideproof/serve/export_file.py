"""An experiment as a file that somebody else may have."""

from __future__ import annotations

from tideproof.experiment.events import event_records as e
from tideproof.experiment.experiment import Experiment
from tideproof.experiment.snapshots.experiment_file import text


def exported(run: Experiment) -> str:
    """Return what `Experiment.load` reads, without what units are hashed with."""
    happened = [each._replace(salt="") if isinstance(each, e.Salted) else each for each in run.events()]
    return text(happened, None)
