"""What the brokers of a cluster prove to each other: that they may read one object of their store.

    secrets/cluster.json   {"version": 1, "secret": "<64 hex digits>"}

It is written once, by whoever comes first. Whoever may read it is a broker.
"""

from __future__ import annotations

import json
from typing import Final

from holdfast.io.chance import Chance
from holdfast.io.objects import Exists, Objects
from holdfast.io.store_errors import Damaged, NewerFormat

NAME: Final = "secrets/cluster.json"
VERSION: Final = 1
SIZE: Final = 32


def cluster_secret(objects: Objects, chance: Chance) -> bytes:
    """The secret of a cluster; made if there is none yet."""
    made = chance.bits(8 * SIZE).to_bytes(SIZE, "big")
    try:
        objects.put_if_absent(NAME, [json.dumps({"version": VERSION, "secret": made.hex()}).encode()])
    except Exists:
        return _decode(objects.get(NAME))
    return made


def _decode(data: bytes) -> bytes:
    try:
        body = json.loads(data)
        version = int(body["version"])
        if version > VERSION:
            raise NewerFormat(NAME, version, VERSION)
        found = bytes.fromhex(body["secret"])
    except (ValueError, TypeError, KeyError, RecursionError):
        raise Damaged(NAME, "it does not hold the secret of a cluster") from None  # Without a word of what it holds.
    if len(found) != SIZE:
        raise Damaged(NAME, "it does not hold the secret of a cluster")
    return found
