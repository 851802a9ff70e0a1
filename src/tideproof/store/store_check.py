"""Whether a store is what was written: nothing is repaired, everything that is wrong is said."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tideproof.errors import TideproofError
from tideproof.experiment.events.event_log import Happened
from tideproof.experiment.snapshots import book_columns
from tideproof.experiment.snapshots.experiment_file import chosen
from tideproof.experiment.snapshots.snapshot import copied_whole, mark_of, packed_whole, resume
from tideproof.experiment.state.experiment_state import State
from tideproof.store import hash_chain as kept
from tideproof.store.ask_verification import Recomputed, recompute
from tideproof.store.backend import Answer, Backend, Entry, ExperimentLog, Snapshot
from tideproof.store.log_state import created_of
from tideproof.store.read_only_view import known, listed, read_all
from tideproof.store.shared_log import about

Show = Callable[[float, str], None]
_OFTEN = 256  # events between two steps of a bar


@dataclass(frozen=True, slots=True)
class ExperimentFindings:
    """What was looked at of one experiment, and what is wrong.

    Attributes
    ----------
    name : of the experiment.
    events : whose hashes and order were checked.
    asked : asks whose arms this code chose again.
    trusted : asks of other code, or of units, which were folded as they are.
    snapshots : that were compared with all events folded.
    others : snapshots of other code, which were only checked for being whole.
    faults : a sentence each.
    """

    name: str
    events: int
    asked: int
    trusted: int
    snapshots: int
    others: int
    faults: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class StoreFindings:
    """What is wrong with the database itself, and with each experiment."""

    faults: tuple[str, ...]
    experiments: tuple[ExperimentFindings, ...]

    @property
    def all_faults(self) -> list[str]:
        """Everything that is wrong, with names."""
        return [
            *self.faults,
            *(f"{each.name}: {fault}" for each in self.experiments for fault in each.faults),
        ]


def fsck(place: Backend, name: str | None = None, show: Show = lambda share, doing: None) -> StoreFindings:
    """Check the database and all its experiments, or one."""
    faults = place.faults()
    checked: list[ExperimentFindings] = []
    try:
        found = place.listed() if name is None else [listed(place, name)]
    except TideproofError as error:
        if name is not None and not faults:
            raise
        return StoreFindings((*faults, str(error)), ())
    total, before = sum(each.events for each in found) or 1, 0
    for each in found:

        def shown(seq: int, before: int = before, doing: str = each.name) -> None:
            show((before + seq) / total, f"checking {doing}")

        checked.append(_checked(place, each.name, shown))
        before += each.events
    return StoreFindings(tuple(faults), tuple(checked))


def _checked(place: Backend, name: str, show: Callable[[int], None]) -> ExperimentFindings:
    check = _Check(show)
    try:
        check.all_of(place, name)
    except TideproofError as error:
        check.faults.append(str(error))
    except Exception as error:  # whatever a damaged record leads to
        check.faults.append(f"it cannot be read: {error!r}")
    return ExperimentFindings(
        name,
        check.events,
        check.asked,
        check.trusted,
        check.compared,
        check.others,
        tuple(check.faults),
    )


class _Check:
    """One experiment, step by step: what a step needs must have been found whole by those before."""

    def __init__(self, show: Callable[[int], None]) -> None:
        self.faults: list[str] = []
        self.events = self.asked = self.trusted = self.compared = self.others = 0
        self._show = show

    def all_of(self, place: Backend, name: str) -> None:
        """Look at everything; what says of how many events it is is read before them, for others write."""
        log = known(place, name)
        snapshots = [(log.last_snapshot(mark), log.snapshot(mark)) for mark in log.marks()]
        answers = log.answers()
        said, entries = read_all(place, name)
        self.events = len(entries)
        broken = [*kept.faults(entries)]
        self.faults += [*broken, *_beside(snapshots, answers, entries[-1].seq if entries else 0)]
        if broken:  # nobody knows what they add up to
            return
        found = self._folded(log, entries, [whole for _, whole in snapshots if whole is not None])
        self.asked, self.trusted = found.asked, found.trusted
        if found.other is not None:
            self.faults.append(f"event {found.other} asks for other arms than the same code chooses now")
        if said != about(found.state):
            self.faults.append("what the list of experiments says of it is not what its events say")

    def _folded(self, log: ExperimentLog, entries: list[Entry], snapshots: list[Snapshot]) -> Recomputed:
        """Fold everything, and compare what stands beside the events with it on the way."""
        mark = mark_of(chosen(created_of(log).policy))
        ours = {snapshot.seq: snapshot for snapshot in snapshots if snapshot.mark == mark}
        self.others = len(snapshots) - len(ours)

        def each(seq: int, state: State) -> None:
            if seq % _OFTEN == 0:
                self._show(seq)
            entry, pulls = entries[seq - 1], len(state.book.pulls)
            last = seq == len(entries)
            if entry.at != state.events[-1].at or entry.pulls < pulls or (last and entry.pulls != pulls):
                self.faults.append(f"time or number of pulls beside event {seq} is not that of the event")
            if seq in ours:
                self._compare(ours[seq], state)

        return recompute(log, None, entries, each)

    def _compare(self, snapshot: Snapshot, state: State) -> None:
        self.compared += 1
        if _restored(state, snapshot.contents) != _restored(state, packed_whole(copied_whole(state))):
            self.faults.append(f"the snapshot of {snapshot.seq:,} events is not what they add up to")


def _restored(state: State, contents: bytes) -> tuple[bytes, list[bytes]] | None:
    """Return book and numbers of a copy of that state, made of the contents of a snapshot."""
    copy = State(state.created, state.spec)
    past = Happened([], len(state.events), lambda: list(state.events))
    if not resume(copy, past, contents):
        return None
    return packed_whole(book_columns.contents(copy.book)), copy.numbers.buffers()


def _beside(snapshots: list[tuple[int, Snapshot | None]], answers: list[Answer], end: int) -> Iterator[str]:
    """Say which snapshots and answers are damaged, or of events behind the last one."""
    for seq, whole in snapshots:
        if seq > end:
            yield f"a snapshot is of {seq:,} events: those at the end are missing"
        elif whole is None or whole.seq < seq:
            yield f"the snapshot of {seq:,} events is damaged"
    for answer in answers:
        if not 0 < answer.seq <= end:
            yield f"the key {answer.key!r} is that of event {answer.seq}, which is missing"
