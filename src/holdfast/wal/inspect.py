"""Look at a log's directory from outside: without its lock, also while it is being written. Nothing is changed.

A live log moves while one looks: a chunk may be recycled, the tail may be half written. What looks wrong is therefore
looked at again, and only what stays wrong is reported.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from holdfast.errors import Corrupt
from holdfast.io.disk import Directory
from holdfast.wal.chunks.chain import read_chain
from holdfast.wal.chunks.chunk import Chunk, ChunkName, parse_chunk_name
from holdfast.wal.errors import ChunkGap, DamagedLog, EntriesMissing, NewerLog
from holdfast.wal.format import record, scan
from holdfast.wal.format.frame import Frame
from holdfast.wal.format.record import KIND_NAMES
from holdfast.wal.recovery.replay import Player, Recovered, check_complete, recover
from holdfast.wal.state import LogId, WalState

_LOOKS = 10  # A look costs little, and purges come one by one.


@dataclass(frozen=True, slots=True)
class RecordLine:
    """One record as `dump` shows it."""

    chunk: str
    position: int  # In the log; in the file for a chunk whose head cannot be read.
    offset: int  # In the file.
    kind: str
    first: LogId | None
    last: LogId | None
    size: int
    round: int
    crc_ok: bool
    detail: str = ""


@dataclass(frozen=True, slots=True)
class WalVerdict:
    """What `verify` found."""

    sound: bool
    damage: str = ""  # In one sentence, when not sound.
    file: str = ""
    position: int = 0
    expected: str = ""
    found: str = ""
    chunks: int = 0
    entries: int = 0
    clean: bool = False  # The log is closed; a live or killed one is not.
    state: WalState = field(default_factory=WalState)


def verify(directory: Directory) -> WalVerdict:
    """Replay the log as `open` would, without changing anything, and say whether it is sound."""
    for look in range(_LOOKS):
        try:
            return _sound(recover(directory))
        except (DamagedLog, ChunkGap, EntriesMissing) as wrong:
            if look == _LOOKS - 1:
                return _damaged(wrong)
        except FileNotFoundError:
            if look == _LOOKS - 1:
                raise
    raise AssertionError("unreachable")


def _sound(recovered: Recovered) -> WalVerdict:
    player = Player(recovered.state, recovered.index)
    if recovered.carried:
        chunk = Chunk(ChunkName(recovered.chain.next_id, 0), recovered.start, 0, recovered.state.next_index)
        recovered.index.chunks.append(chunk)
        for frame in recovered.carried:
            player.apply(frame.kind, frame.body, chunk, frame.offset)
    state = player.state
    check_complete(state, recovered.index)
    entries = state.next_index - state.first_index
    chunks = len(recovered.chain.links)
    return WalVerdict(sound=True, chunks=chunks, entries=entries, clean=recovered.clean, state=state)


def _damaged(wrong: Corrupt) -> WalVerdict:
    if isinstance(wrong, DamagedLog):
        return WalVerdict(
            sound=False,
            damage=str(wrong),
            file=wrong.file,
            position=wrong.position,
            expected=wrong.expected,
            found=wrong.found,
        )
    return WalVerdict(sound=False, damage=str(wrong))


def dump(directory: Directory) -> Iterator[RecordLine]:
    """Every record of every chunk, oldest first; where no valid frame is, one line says so."""
    ends = _ends(directory)
    for text in directory.names():
        name = parse_chunk_name(text)
        if name is not None:
            try:
                yield from _dump_chunk(directory, name, ends.get(name.id))
            except FileNotFoundError:
                continue  # Purged while we looked.


def _ends(directory: Directory) -> dict[int, int]:
    """Where each chunk ends according to its successor's head, as far as the chain can be read."""
    try:
        links = read_chain(directory).links
    except (Corrupt, NewerLog, FileNotFoundError):
        return {}
    return {link.head.predecessor: link.head.predecessor_end for link in links if link.head.predecessor is not None}


def _dump_chunk(directory: Directory, name: ChunkName, end: int | None) -> Iterator[RecordLine]:
    file = directory.open(str(name), write=False)
    try:
        start = reached = 0
        while True:
            for frame in scan.frames(file, name.seed, reached):
                if frame.kind == record.HEAD:
                    start = record.decode_head(frame.body).start
                reached = frame.end
                yield _line(name, start, frame, ignored=end is not None and frame.offset >= end)
            whole = reached >= end if end is not None else scan.find_proof(file, name.seed, reached, 0) is None
            if whole or not scan.is_frame(file, name.seed, reached):
                break  # Otherwise it grew while we looked.
        if not whole:
            expected, found = scan.explain(file, name.seed, reached)
            detail = f"expected {expected}, found {found}"
            yield RecordLine(
                str(name), start + reached, reached, "damaged", None, None, 0, 0, crc_ok=False, detail=detail
            )
    finally:
        file.close()


def _line(name: ChunkName, start: int, frame: Frame, *, ignored: bool) -> RecordLine:
    first, last, detail = _describe(frame)
    if ignored:
        detail = f"{detail} (ignored: beyond the end that the next chunk recorded)".strip()
    kind = KIND_NAMES.get(frame.kind, f"kind {frame.kind}")
    if record.is_padding(frame.kind, frame.body):
        kind = "padding"
    size = frame.end - frame.offset
    return RecordLine(
        str(name), start + frame.offset, frame.offset, kind, first, last, size, frame.round, crc_ok=True, detail=detail
    )


def _describe(frame: Frame) -> tuple[LogId | None, LogId | None, str]:
    if frame.kind == record.APPEND:
        appended = record.decode_append(frame.body)
        last = LogId(appended.first.epoch, appended.first.index + appended.entry_count - 1)
        return appended.first, last, ""
    if frame.kind == record.HEAD:
        head = record.decode_head(frame.body)
        after = f"after {head.predecessor} at {head.predecessor_end}" if head.predecessor is not None else "first"
        return None, head.state.last, f"version {head.version}, {after}"
    if frame.kind == record.STATE:
        state = record.decode_state(frame.body)
        return None, state.last, f"{len(state.user_data)} bytes of user data"
    if frame.kind == record.MARKER:
        return None, None, "closed" if frame.body[0] else ""
    if frame.kind in (record.VOTE, record.TRUNCATE, record.PURGE, record.COMMIT):
        log_id = record.decode_id(frame.body)
        return None, log_id, ""
    return None, None, "unknown"
