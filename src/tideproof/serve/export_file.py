"""Export of an experiment as a JSON file."""

from __future__ import annotations

from tideproof.experiment.events import event_records as e
from tideproof.experiment.experiment import Experiment
from tideproof.experiment.snapshots.experiment_file import to_text


def export_text(run: Experiment) -> str:
    """Return an experiment as JSON text for `Experiment.load`, without the salt for hashing unit ids."""
    happened = [each._replace(salt="") if isinstance(each, e.Salted) else each for each in run.events()]
    return to_text(happened, None)
