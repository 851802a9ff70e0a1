"""Deletion of archived experiments after the time that the setting `retention_days` gives."""

from __future__ import annotations

import json
import logging
import threading
import time

from tideproof.errors import TideproofError
from tideproof.serve.experiment_cache import ExperimentCache

LOG = logging.getLogger("tideproof.serve")
PAUSE = 600.0  # seconds between two searches for experiments to delete
DAY = 86_400.0


class RetentionSweeper:
    """Thread that deletes experiments which have been archived for longer than a number of days.

    With 0 days, nothing is deleted and no thread runs.
    """

    def __init__(self, experiments: ExperimentCache, days: float) -> None:
        self._experiments, self._days = experiments, days
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Start the thread, unless archived experiments are kept."""
        if self._days:
            self._stopping.clear()
            self._thread = threading.Thread(target=self._run, name="retention", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """Stop the thread."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join(10.0)

    def _run(self) -> None:
        """Delete experiments that were archived too long ago, at regular intervals until stopped."""
        while True:
            try:
                self.delete_due(time.time())
            except Exception as error:  # an unexpected error must not end the thread
                LOG.error(
                    "unexpected error while deleting archived experiments",
                    exc_info=error,
                    extra={"fields": {}},
                )
            if self._stopping.wait(PAUSE):
                return

    def delete_due(self, now: float) -> list[str]:
        """Delete the experiments that were archived too long ago, and return their names."""
        if not self._days:
            return []
        deleted = []
        for each in self._experiments.list_experiments():
            if not each.is_archived or now < json.loads(each.about)["archived_at"] + self._days * DAY:
                continue
            try:
                self._experiments.delete(each.name)
            except TideproofError as error:  # another process deleted it, or the store cannot be written
                fields = {"reason": type(error).__name__}
                LOG.warning("an archived experiment could not be deleted", extra={"fields": fields})
            else:
                deleted.append(each.name)
        return deleted
