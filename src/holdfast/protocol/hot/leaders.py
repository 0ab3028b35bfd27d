"""Where a partition has gone, in the tags of answers to Produce and Fetch (KIP-951): clients go there without asking.

a partition's tag, 0 of Produce and 1 of Fetch:   | leader id i32 | leader epoch i32 | no tags |
the answer's tag 0:   | endpoints: | node id i32 | host string | port i32 | rack string?: null | no tags |
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import NamedTuple

from holdfast.protocol.wire import encode_varint

_LEADER = struct.Struct(">iix")


class CurrentLeader(NamedTuple):
    """Who leads the partition now, and since which epoch."""

    leader_id: int
    leader_epoch: int


class LeaderAddress(NamedTuple):
    """Where a broker is."""

    node_id: int
    host: str
    port: int


def leader_tags(leader: CurrentLeader) -> bytes:
    """All tags of a partition in an answer to Produce."""
    return bytes((1, 0, _LEADER.size)) + _LEADER.pack(*leader)


def endpoint_tags(endpoints: Sequence[LeaderAddress]) -> bytes:
    """All tags of an answer."""
    if not endpoints:
        return b"\x00"
    rows = [_endpoint(each) for each in endpoints]
    value = encode_varint(len(rows) + 1) + b"".join(rows)
    return b"\x01\x00" + encode_varint(len(value)) + value


def _endpoint(endpoint: LeaderAddress) -> bytes:
    host = endpoint.host.encode()
    fields = struct.pack(">i", endpoint.node_id), encode_varint(len(host) + 1), host, struct.pack(">i", endpoint.port)
    return b"".join(fields) + b"\x00\x00"
