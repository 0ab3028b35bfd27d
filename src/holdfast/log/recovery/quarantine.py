"""Tails that no partition can hold are kept in files of their own, whole and durable.

A partition that cannot be opened, or that another leader has taken, still has records in the write-ahead log that were
acknowledged. They would pin the log for ever, and must not be lost: they go into a file, and the log remembers that.

    | JSON of one line, sealed like a manifest: kind "tail", format 1 | newline | the batches, as they were |

    {"cluster":…,"broker":…,"topic":…,"partition":…,"start":…,"end":…,"why":…,"size":…,"batches_crc32c":…}

What was found in the place of batches of which no copy is sound is in a file beside it, for people to look at:

    | JSON of one line, sealed like a manifest: kind "lost", format 1 | newline | the pieces, as they were found |

    {"cluster":…,"broker":…,"topic":…,"partition":…,"why":…,"pieces":[{"spans":[[<start>,<end>],…],"from":…,"size":…},…]}
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from crc32c import crc32c

from holdfast.io.chance import Chance
from holdfast.io.disk import Directory
from holdfast.io.envelope import seal, unseal
from holdfast.io.store_errors import Damaged
from holdfast.log.metadata import Identity
from holdfast.segment.names import new_tag
from holdfast.types import Buffer, PartitionId

KIND = "tail"
FORMAT = 1
SUFFIX = ".tail"
LOST_KIND = "lost"
LOST_FORMAT = 1
LOST_SUFFIX = ".lost"
UNFINISHED = ".unfinished"


class QuarantinedPart(NamedTuple):
    """Bytes that were found in the place of some batches."""

    spans: list[tuple[int, int]]  # The offsets of these batches.
    source: str  # Where: memory, or a file of the write-ahead log and the first byte.
    data: Buffer


class Quarantine:
    """A directory of such files; it is made when the first one is. Calls block."""

    def __init__(self, place: Callable[[], Directory], chance: Chance) -> None:
        self._place = place
        self._chance = chance

    def save(
        self, home: PartitionId, span: tuple[int, int], why: str, batches: Sequence[memoryview], identity: Identity
    ) -> str:
        """Write batches of a partition, and return the file's name. Durable on return."""
        name = f"{home.topic_id.hex}-{home.partition}-{span[0]}-{span[1]}-{new_tag(self._chance)}{SUFFIX}"
        self._write(name, [encode_head(home, span, why, batches, identity), *batches])
        return name

    def save_lost(
        self, beside: str, home: PartitionId, why: str, pieces: Sequence[QuarantinedPart], identity: Identity
    ) -> str:
        """The same for what was found in the place of batches that are lost; `beside` is the file with the others."""
        name = beside.removesuffix(SUFFIX) + LOST_SUFFIX
        told = [{"spans": each.spans, "from": each.source, "size": len(memoryview(each.data))} for each in pieces]
        body = {
            "cluster": identity.cluster,
            "broker": identity.broker,
            "topic": home.topic_id.hex,
            "partition": home.partition,
            "why": why,
            "pieces": told,
        }
        self._write(name, [seal(LOST_KIND, LOST_FORMAT, body) + b"\n", *(each.data for each in pieces)])
        return name

    def _write(self, name: str, data: Sequence[Buffer]) -> None:
        directory = self._place()
        file = directory.open(name + UNFINISHED, create=True)
        try:
            file.write_at(0, data)
            file.sync()
        finally:
            file.close()
        directory.rename(name + UNFINISHED, name)  # Only whole files have the name of one.
        directory.sync_names()


def encode_head(
    home: PartitionId, span: tuple[int, int], why: str, batches: Sequence[memoryview], identity: Identity
) -> bytes:
    crc = 0
    for batch in batches:
        crc = crc32c(batch, crc)
    body = {
        "cluster": identity.cluster,
        "broker": identity.broker,
        "topic": home.topic_id.hex,
        "partition": home.partition,
        "start": span[0],
        "end": span[1],
        "why": why,
        "size": sum(map(len, batches)),
        "batches_crc32c": f"{crc:08x}",
    }
    return seal(KIND, FORMAT, body) + b"\n"


def read_tail_file(name: str, data: bytes) -> tuple[dict[str, Any], memoryview]:
    """What a file says of itself, and its batches, checked."""
    head, newline, _ = data.partition(b"\n")
    body = unseal(name, KIND, FORMAT, head)
    batches = memoryview(data)[len(head) + len(newline) :]
    if len(batches) != body["size"] or f"{crc32c(batches):08x}" != body["batches_crc32c"]:
        raise Damaged(name, "its batches are not what was written")
    return body, batches
