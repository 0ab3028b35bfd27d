"""Damaged messages, given to every decoder: `python -m tests.protocol.fuzz SECONDS [SEED]` goes on for a while.

The one thing that may come out, besides a value, is Malformed. Any other exception ends the run with the bytes.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable
from functools import cache, partial
from typing import Any, TypeAlias

from tests.protocol import oracle

from holdfast.protocol import classes, header, messages
from holdfast.protocol.api import APIS, Key
from holdfast.protocol.errors import Malformed
from holdfast.protocol.hot import fetch, produce
from holdfast.protocol.schema import decoder

Decoder: TypeAlias = Callable[[memoryview], Any]

# What sizes, counts and tags are made of: the edges of varints, int16 and int32, and nulls.
PIECES = [
    *(bytes.fromhex(piece) for piece in ("00", "01", "02", "7f", "80", "ff", "8001", "ffff", "ffff03", "ffffff7f")),
    *(bytes.fromhex(piece) for piece in ("ffffffff07", "ffffffff0f", "ffffffff7f", "ffffffffffff7f", "7fff", "8000")),
    *(bytes.fromhex(piece) for piece in ("7fffffff", "80000000", "fffffffe", "00010000", "fffe")),
]


def decoders() -> dict[str, tuple[Any, Decoder]]:
    """Every decoder, with the oracle's class for messages that it reads."""
    found: dict[str, tuple[Any, Decoder]] = {}
    for key, api in APIS.items():
        for version in range(api.min_version, api.max_version + 1):
            name = f"{api.name} v{version}"
            request, response = oracle.request_entity(key, version), oracle.response_entity(key, version)
            found[f"{name} request"] = (request, partial(messages.decode_request, key, version))
            found[f"{name} response"] = (response, partial(decoder.decode, classes.response_class(key), version))
            if key == Key.PRODUCE:
                found[f"{name} request by hand"] = (request, partial(produce.decode_request, version))
            if key == Key.FETCH:
                found[f"{name} request by hand"] = (request, partial(fetch.decode_request, version))
    return found


@cache
def valid(entity_class: Any, seed: int) -> bytes:
    return oracle.encode(oracle.entity(random.Random(seed), entity_class))


def damaged(chance: random.Random, entity_class: Any) -> bytes:
    """Some bytes of a message changed, cut out, put in or doubled; now and then no message at all."""
    if chance.random() < 0.1:
        return chance.randbytes(chance.randrange(200))
    data = bytearray(valid(entity_class, chance.randrange(20)))
    for _ in range(chance.choice((1, 1, 2, 5))):
        at = chance.randrange(len(data) + 1)
        match chance.randrange(5):
            case 0:
                data[at : at + 1] = bytes((chance.randrange(256),))
            case 1:
                piece = chance.choice(PIECES)
                data[at : at + len(piece)] = piece
            case 2:
                data[at:at] = chance.choice(PIECES)
            case 3:
                del data[at : at + chance.choice((1, 2, 4, 100))]
            case 4:
                data[at:at] = data[chance.randrange(len(data) + 1) :][:50]
    return bytes(data)


def attempt(decode: Decoder, data: bytes) -> bool:
    """Whether the bytes were read; anything but Malformed goes through."""
    try:
        decode(memoryview(data))
    except Malformed:
        return False
    return True


def attempt_header(data: bytes) -> bool:
    return attempt(header.decode_request_header, data)


def main(seconds: float, seed: int) -> None:
    chance = random.Random(seed)
    every = list(decoders().items())
    end = time.monotonic() + seconds
    tried = read = 0
    while time.monotonic() < end:
        name, (entity_class, decode) = chance.choice(every)
        data = damaged(chance, entity_class)
        try:
            read += attempt(decode, data)
            attempt_header(data)
        except Exception:
            print(f"seed {seed}, {name}: {data.hex()}", file=sys.stderr)
            raise
        tried += 1
    print(f"seed {seed}: {tried:,} messages, {read:,} could be read all the same")


if __name__ == "__main__":
    main(float(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else random.randrange(2**32))
