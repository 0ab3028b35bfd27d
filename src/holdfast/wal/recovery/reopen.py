"""Begin a new chunk behind what was recovered, and clear away what is not needed any more.

Every open begins a new chunk. The old one may end in bytes that only look durable; the new head says where the proven
part ends, and the rest of it that is still valid is written again first, so that nothing is shown that a power cut
could take back.
"""

from __future__ import annotations

from dataclasses import dataclass

from holdfast.io.chance import Chance
from holdfast.io.disk import Directory
from holdfast.wal.chunks.chunk import Chunk, ChunkName
from holdfast.wal.commit.round import Round
from holdfast.wal.commit.writer import OnFull, WalWriter, give_up_when_full
from holdfast.wal.format import record
from holdfast.wal.format.record import Head
from holdfast.wal.recovery.replay import Player, Recovered, check_complete
from holdfast.wal.settings import WalSettings
from holdfast.wal.state import WalState


@dataclass(frozen=True, slots=True)
class ReopenedWal:
    """A log ready to be written."""

    chunk: Chunk
    state: WalState
    writer: WalWriter
    last_round: int


def begin(
    directory: Directory,
    settings: WalSettings,
    chance: Chance,
    recovered: Recovered,
    on_full: OnFull = give_up_when_full,
) -> ReopenedWal:
    """Write the new chunk's head, with what is carried over; all of it is durable on return."""
    chain = recovered.chain
    name = ChunkName(chain.next_id, chance.bits(64))
    head = head_of(name, recovered.predecessor, recovered.predecessor_end, recovered.start, recovered.state)
    chunk = Chunk(name, recovered.start, 0, recovered.state.next_index)
    recovered.index.chunks.append(chunk)
    round_ = Round(recovered.last_round + 1, chunk, creates_chunk=True)
    body = record.encode_head(head)
    round_.add(record.HEAD, [body], len(body))
    head_buffers, round_.buffers = round_.buffers, []
    player = Player(recovered.state, recovered.index)
    for frame in recovered.carried:
        offset = round_.add(frame.kind, [frame.body], len(frame.body))
        player.apply(frame.kind, frame.body, chunk, offset)
    check_complete(player.state, recovered.index)

    writer = WalWriter(directory, settings, chain.spares[: settings.spares_max], on_full)
    try:
        writer.create(chunk)
        writer.write_first(head_buffers, round_.buffers)
        _clear_away(directory, settings, recovered)
        writer.recycle(recovered.index.take_purged(player.state.first_index))
    except BaseException:
        writer.close()
        raise
    return ReopenedWal(chunk, player.state, writer, round_.number)


def head_of(name: ChunkName, predecessor: int | None, predecessor_end: int, start: int, state: WalState) -> Head:
    return Head(record.FORMAT_VERSION, name.id, predecessor, predecessor_end, start, state)


def _clear_away(directory: Directory, settings: WalSettings, recovered: Recovered) -> None:
    for name in sorted(recovered.chain.leftovers, key=lambda name: name.id):
        directory.remove(str(name))
        directory.sync_names()
    for spare in recovered.chain.spares[settings.spares_max :]:
        directory.remove(spare)
