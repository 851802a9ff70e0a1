"""Check a store for damage and report every fault; nothing is repaired."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tideproof.errors import TideproofError
from tideproof.experiment.events.event_log import EventLog
from tideproof.experiment.snapshots import pull_columns
from tideproof.experiment.snapshots.experiment_file import policy_from_description
from tideproof.experiment.snapshots.snapshot import (
    code_fingerprint,
    copy_whole_state,
    resume,
    serialize_state,
)
from tideproof.experiment.state.experiment_state import State
from tideproof.store import hash_chain
from tideproof.store.ask_verification import RecomputedAsks, recompute_asks
from tideproof.store.backend import Backend, ExperimentLog, LogEntry, Snapshot, StoredAnswer
from tideproof.store.chain_heads import ChainHead, combine_heads, head_of
from tideproof.store.log_replay import read_created_event
from tideproof.store.read_only_view import find_listing, find_log, read_all
from tideproof.store.shared_log import summary_agrees

Show = Callable[[float, str], None]
_PROGRESS_STEP = 256  # events between two updates of the progress bar


@dataclass(frozen=True, slots=True)
class ExperimentFindings:
    """Result of checking one experiment of a store for damage.

    Attributes
    ----------
    name : name of the experiment.
    events : number of events whose hashes and order were checked.
    asked : number of asks whose arms the policy chose again, for comparison.
    trusted : number of asks that were applied without a check: those of other code, and those for units.
    snapshots : number of snapshots that were compared with a replay of all events.
    others : number of snapshots of other code, of which only the checksum was checked.
    faults : a sentence for each fault.
    head : hash of the last event, in hexadecimal digits.
    """

    name: str
    events: int
    asked: int
    trusted: int
    snapshots: int
    others: int
    faults: tuple[str, ...]
    head: str = ""


@dataclass(frozen=True, slots=True)
class StoreFindings:
    """Result of checking a store for damage: faults of the database, and findings for each experiment."""

    faults: tuple[str, ...]
    experiments: tuple[ExperimentFindings, ...]

    @property
    def head(self) -> str:
        """One hash computed from the last events of all checked experiments."""
        return combine_heads(ChainHead(each.name, each.events, each.head) for each in self.experiments)

    @property
    def all_faults(self) -> list[str]:
        """All faults that were found in a store, as sentences.

        A fault of one experiment begins with the experiment's name.
        """
        return [
            *self.faults,
            *(f"{each.name}: {fault}" for each in self.experiments for fault in each.faults),
        ]


def fsck(backend: Backend, name: str | None = None, show: Show = lambda share, doing: None) -> StoreFindings:
    """Check a store for damage: the database itself, and all of its experiments or only one."""
    faults = backend.find_faults()
    checked: list[ExperimentFindings] = []
    try:
        found = backend.list_experiments() if name is None else [find_listing(backend, name)]
    except TideproofError as error:
        if name is not None and not faults:
            raise
        return StoreFindings((*faults, str(error)), ())
    total, before = sum(each.events for each in found) or 1, 0
    for each in found:

        def show_progress(seq: int, before: int = before, doing: str = each.name) -> None:
            show((before + seq) / total, f"checking {doing}")

        checked.append(_check_experiment(backend, each.name, show_progress))
        before += each.events
    return StoreFindings(tuple(faults), tuple(checked))


def _check_experiment(backend: Backend, name: str, show: Callable[[int], None]) -> ExperimentFindings:
    """Check one stored experiment for damage.

    An error while reading it is reported as a fault.
    """
    check = _Check(show)
    try:
        check.run(backend, name)
    except TideproofError as error:
        check.faults.append(str(error))
    except Exception as error:  # a damaged record can raise any error
        check.faults.append(f"the experiment cannot be read: {error!r}")
    return ExperimentFindings(
        name,
        check.events,
        check.asked,
        check.trusted,
        check.compared,
        check.others,
        tuple(check.faults),
        check.head.hash,
    )


class _Check:
    """Steps that check one stored experiment for damage; each step relies on the ones before."""

    def __init__(self, show: Callable[[int], None]) -> None:
        self.faults: list[str] = []
        self.events = self.asked = self.trusted = self.compared = self.others = 0
        self.head = ChainHead("", 0, "")
        self._show = show

    def run(self, backend: Backend, name: str) -> None:
        """Check the hash chain, stored answers, snapshots, chosen arms and summary of one experiment.

        Other processes may append events meanwhile. Snapshots and answers are therefore read before the
        events that they refer to.
        """
        log = find_log(backend, name)
        snapshots = [(log.last_snapshot_size(mark), log.read_snapshot(mark)) for mark in log.read_marks()]
        answers = log.read_answers()
        summary, entries = read_all(backend, name)
        self.events, self.head = len(entries), head_of(name, entries)
        broken = [*hash_chain.find_faults(entries)]
        self.faults += [*broken, *_find_stored_faults(snapshots, answers, entries[-1].seq if entries else 0)]
        if broken:  # damaged events cannot be replayed
            return
        found = self._replay(log, entries, [whole for _, whole in snapshots if whole is not None])
        self.asked, self.trusted = found.asked, found.trusted
        if found.other is not None:
            self.faults.append(
                f"the arms in event {found.other} differ from those that the policy chooses in a replay"
            )
        if not summary_agrees(summary, found.state):
            self.faults.append("the stored description (arms, budget, policy) does not agree with the events")

    def _replay(
        self, log: ExperimentLog, entries: list[LogEntry], snapshots: list[Snapshot]
    ) -> RecomputedAsks:
        """Replay all events, and compare the stored times, pull counts and snapshots with the replay."""
        mark = code_fingerprint(policy_from_description(read_created_event(log).policy))
        ours = {snapshot.seq: snapshot for snapshot in snapshots if snapshot.mark == mark}
        self.others = len(snapshots) - len(ours)

        def each(seq: int, state: State) -> None:
            if seq % _PROGRESS_STEP == 0:
                self._show(seq)
            entry, pulls = entries[seq - 1], len(state.book.pulls)
            last = seq == len(entries)
            if entry.at != state.events[-1].at or entry.pulls < pulls or (last and entry.pulls != pulls):
                self.faults.append(f"the time or number of pulls stored with event {seq} is wrong")
            if seq in ours:
                self._compare(ours[seq], state)

        return recompute_asks(log, None, entries, each)

    def _compare(self, snapshot: Snapshot, state: State) -> None:
        """Compare a snapshot with the state that a replay of the same events gives."""
        self.compared += 1
        if _restore_parts(state, snapshot.contents) != _restore_parts(
            state, serialize_state(copy_whole_state(state))
        ):
            self.faults.append(f"the snapshot of {snapshot.seq:,} events differs from a replay of them")


def _restore_parts(state: State, contents: bytes) -> tuple[bytes, list[bytes]] | None:
    """Restore a state from a snapshot and return it as bytes, for comparison with another state."""
    copy = State(state.created, state.spec)
    past = EventLog([], len(state.events), lambda: list(state.events))
    if not resume(copy, past, contents):
        return None
    return serialize_state(pull_columns.book_to_columns(copy.book)), copy.policy_state.buffers()


def _find_stored_faults(
    snapshots: list[tuple[int, Snapshot | None]], answers: list[StoredAnswer], end: int
) -> Iterator[str]:
    """Yield a sentence for each damaged snapshot and each stored result that does not fit the event log.

    Snapshots and results of commands do not fit the log if it lacks their events.
    """
    for seq, whole in snapshots:
        if seq > end:
            yield f"a snapshot covers {seq:,} events, but the event log has only {end:,}"
        elif whole is None or whole.seq < seq:
            yield f"the snapshot of {seq:,} events is damaged"
    for answer in answers:
        if not 0 < answer.seq <= end:
            yield f"the idempotency key {answer.key!r} refers to event {answer.seq}, which is missing"
