"""Export of an experiment as a JSON file."""

from __future__ import annotations

from tideproof.experiment.events import event_records as e
from tideproof.experiment.experiment import Experiment
from tideproof.experiment.snapshots.experiment_file import to_text


def export_text(run: Experiment) -> str:
    """Return an experiment as JSON text that `Experiment.load` can read.

    The text does not contain the salt with which the identifiers of units are hashed.
    """
    happened = [each._replace(salt="") if isinstance(each, e.Salted) else each for each in run.events()]
    return to_text(happened, None)
