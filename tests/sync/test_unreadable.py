"""K12: a sync steps over a batch that nobody can read, on either side, says so, and goes on."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from tests.record.test_malformed import malformed
from tests.sync.conftest import Pair
from tests.sync.sides import numbered, write
from tests.sync.test_copy import once

from holdfast.client import Client
from holdfast.record.batch import split
from holdfast.record.errors import UNREADABLE
from holdfast.record.records import read_records
from holdfast.types import TopicPartition

BAD = malformed("00 00 00 00 01 01 00" * 2, 2, 1)
UNLOOKED = {"holdfast.validate.records": "false"}


def values(client: Client, topic: str) -> list[bytes | None]:
    """Of all records that can be read."""
    where = TopicPartition(topic, 0)
    found: list[bytes | None] = []
    for header, batch in split(client.fetch({where: 0}, committed=False)[where].records):
        with suppress(*UNREADABLE):
            found += [] if header.is_control else [each.value for each in read_records(batch)]
    return found


def test_a_sync_steps_over_what_nobody_can_read(pair: Pair, topic: str, caplog: Any) -> None:
    """K12, S8: everything around it is copied, once; also when it goes on, and when the target holds such a batch."""
    pair.at_a.create_topics({topic: 1}, UNLOOKED)
    for start in (0, 10, 20):
        write(pair.at_a, topic, 0, numbered("v", 10, start=start))
        pair.at_a.produce({(topic, 0): bytearray(BAD)})
    first = once(pair, topic)
    assert sum(look.counts.unreadable for look in first.look()) == 6
    assert "offsets [10, 12) cannot be read, and are skipped: " in caplog.text
    pair.at_b.produce({(topic, 0): bytearray(BAD)})
    write(pair.at_a, topic, 0, numbered("v", 10, start=30))
    once(pair, topic)
    assert values(pair.at_b, topic) == [each.value for each in numbered("v", 40)]
