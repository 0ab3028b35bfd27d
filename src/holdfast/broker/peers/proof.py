"""How brokers of a cluster prove who they are: each request and each answer, with the secret of their store.

    tag of a request's header     | from life u64 | to life u64 | number u64 | HMAC-SHA256, 32 bytes |
    tag of its answer's header    | HMAC-SHA256, 32 bytes |

Both cover the three numbers, the API, its version and all of the message. Nothing depends on who listens where, on
certificates or on logins. A life counts its requests to another: one that arrives late, behind a later one, or at
another life is not carried out.
"""

from __future__ import annotations

import hmac
import struct
from collections.abc import Sequence
from typing import Final, NamedTuple

from holdfast.errors import Rejected
from holdfast.protocol.api import Key
from holdfast.protocol.header import frame_request, frame_response, header_tag, one_tag
from holdfast.types import Buffer

TAG: Final = 10_007  # Of Kafka's headers none has a number anywhere near.
PEER_KEYS: Final = frozenset(
    {Key.WRITE_TXN_MARKERS, Key.ADD_PARTITIONS_TO_TXN, Key.READ_SHARE_GROUP_STATE, Key.WRITE_SHARE_GROUP_STATE}
)
_WAY: Final = struct.Struct(">QQQ")
_API: Final = struct.Struct(">hh")
_MAC_SIZE: Final = 32
_SENDER: Final = "broker-"
_DIGITS_MAX: Final = 18


class ProofWrong(Rejected):
    """Whoever sent this is no broker of this cluster, or somebody has changed it on its way."""

    def __init__(self, what: str) -> None:
        super().__init__(f"{what} does not prove that it comes from a broker of this cluster")


class Way(NamedTuple):
    """From which life to which a request goes, and the how many-th of its API it is between them."""

    sender: int
    receiver: int
    number: int


def framed_request(secret: bytes, way: Way, key: Key, version: int, known: int, body: Sequence[Buffer]) -> list[Buffer]:
    """A request with its proof. `known` is the sender's version of the metadata: a hint, which is not proven."""
    tag = one_tag(TAG, _WAY.pack(*way) + _mac(secret, b"request", way, key, version, body))
    return frame_request(key, version, 0, f"{_SENDER}{known}", body, tag)


def known_version(client_id: str | None) -> int:
    """Which version of the metadata the sender of a request knows; -1 if it does not say."""
    digits = (client_id or "").removeprefix(_SENDER)
    return int(digits) if digits.isascii() and digits.isdecimal() and len(digits) <= _DIGITS_MAX else -1


def proven_way(secret: bytes, key: int, version: int, frame: memoryview, body: memoryview) -> Way | None:
    """Which way a request came; None without a proof. Raises ProofWrong."""
    found = header_tag(frame, TAG, is_request=True)
    if found is None:
        return None
    if len(found) != _WAY.size + _MAC_SIZE:
        raise ProofWrong("a request")
    way = Way(*_WAY.unpack_from(found))
    if not hmac.compare_digest(found[_WAY.size :], _mac(secret, b"request", way, key, version, [body])):
        raise ProofWrong("a request")
    return way


def framed_answer(
    secret: bytes, way: Way, key: int, version: int, correlation_id: int, body: Sequence[Buffer]
) -> list[Buffer]:
    """An answer with its proof."""
    tag = one_tag(TAG, _mac(secret, b"answer", way, key, version, body))
    return frame_response(key, version, correlation_id, body, tag)


def check_answer(secret: bytes, way: Way, key: int, version: int, frame: memoryview, body: memoryview) -> None:
    """Raises ProofWrong."""
    found = header_tag(frame, TAG, is_request=False)
    expected = _mac(secret, b"answer", way, key, version, [body])
    is_right = found is not None and hmac.compare_digest(found, expected)
    if not is_right:
        raise ProofWrong("an answer")


def _mac(secret: bytes, kind: bytes, way: Way, key: int, version: int, body: Sequence[Buffer]) -> bytes:
    made = hmac.new(secret, kind + _WAY.pack(*way) + _API.pack(key, version), "sha256")
    for each in body:
        made.update(each)
    return made.digest()
