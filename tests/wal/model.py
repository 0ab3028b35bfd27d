"""What a log must hold: a plain list, and every version of it that a crash may leave.

Each record makes a new version. A crash may go back to any version from the last acknowledged one on, and to no other:
what is found must be one of them, whole: entries, vote, commit mark, purge point and user data together.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from holdfast.wal import LogId, Vote, Wal

Entries = tuple[tuple[LogId, bytes], ...]


@dataclass(frozen=True)
class Version:
    """A log at one moment."""

    vote: Vote | None = None
    committed: LogId | None = None
    purged: LogId | None = None
    user_data: bytes = b""
    entries: Entries = ()

    @property
    def first_index(self) -> int:
        return 0 if self.purged is None else self.purged.index + 1

    @property
    def next_index(self) -> int:
        return self.first_index + len(self.entries)

    @property
    def last(self) -> LogId | None:
        return self.entries[-1][0] if self.entries else self.purged

    @property
    def last_epoch(self) -> int:
        return self.last.epoch if self.last else 0


def version_of(wal: Wal) -> Version:
    """What a log gives back: its state, and all its entries read one by one."""
    state = wal.state
    entries = tuple((entry.log_id, bytes(entry.payload)) for entry in wal.read(state.first_index, 1 << 60))
    found = Version(state.vote, state.committed, state.purged, state.user_data, entries)
    assert found.last == state.last, f"the state says {state.last}, the last entry is {found.last}"
    return found


@dataclass
class Model:
    """All versions since the last acknowledged one."""

    versions: list[Version] = field(default_factory=lambda: [Version()])
    dropped: int = 0  # Versions before the first one in the list, which no crash may bring back.
    appended: set[tuple[LogId, bytes]] = field(default_factory=set)

    @property
    def now(self) -> Version:
        return self.versions[-1]

    @property
    def mark(self) -> int:
        """The number of the newest version, to be acknowledged later."""
        return self.dropped + len(self.versions) - 1

    def acknowledge(self, mark: int) -> None:
        """Everything up to this version is durable."""
        count = mark - self.dropped
        if count > 0:
            del self.versions[:count]
            self.dropped += count

    # Records, in the log's own words

    def append(self, first: LogId, payloads: list[bytes]) -> None:
        for number, payload in enumerate(payloads):
            entry = (LogId(first.epoch, first.index + number), payload)
            self.appended.add(entry)
            self._become(replace(self.now, entries=(*self.now.entries, entry)))

    def truncate(self, index: int) -> None:
        entries = self.now.entries[: index - self.now.first_index]
        last = entries[-1][0] if entries else self.now.purged
        committed = self.now.committed
        if committed is not None and (last is None or committed.index > last.index):
            committed = last
        self._become(replace(self.now, entries=entries, committed=committed))

    def purge(self, upto: LogId) -> None:
        if upto.index >= self.now.first_index:
            entries = self.now.entries[upto.index + 1 - self.now.first_index :]
            self._become(replace(self.now, entries=entries, purged=upto))

    def commit(self, log_id: LogId) -> None:
        self._become(replace(self.now, committed=log_id))

    def save_vote(self, vote: Vote) -> None:
        self._become(replace(self.now, vote=vote))

    def save_user_data(self, data: bytes) -> None:
        self._become(replace(self.now, user_data=data))

    def _become(self, version: Version) -> None:
        self.versions.append(version)

    # After a crash

    def check(self, found: Version) -> None:
        """What was found after a crash must be one of the versions; it is the only one from now on."""
        for number in reversed(range(len(self.versions))):
            if self.versions[number] == found:
                self.dropped += len(self.versions)
                self.versions = [found]
                return
        raise AssertionError(self._explain(found))

    def _explain(self, found: Version) -> str:
        acked = self.versions[0]
        ghosts = [entry for entry in found.entries if entry not in self.appended]
        if ghosts:
            return f"A ghost came back. Never appended: {[str(entry[0]) for entry in ghosts[:3]]}"
        lost = set(acked.entries) - set(found.entries)
        touched = {index for version in self.versions for index in (version.first_index, version.next_index)}
        gone = [entry for entry in sorted(lost) if min(touched) <= entry[0].index]
        if gone or found.next_index < min(version.next_index for version in self.versions):
            names = [str(entry[0]) for entry in gone[:3]]
            return f"An acknowledged entry was lost. Acknowledged up to {acked.last}, found up to {found.last}: {names}"
        if [entry[0].index for entry in found.entries] != list(range(found.first_index, found.next_index)):
            return f"The order does not hold: {[str(entry[0]) for entry in found.entries]}"
        return f"A ghost came back, or the state went back. Acknowledged: {_short(acked)}. Found: {_short(found)}."


def _short(version: Version) -> str:
    return (
        f"vote {version.vote}, committed {version.committed}, purged {version.purged}, last {version.last}, "
        f"{len(version.user_data)} bytes of user data"
    )
