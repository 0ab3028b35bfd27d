"""Who waits for entries of the write-ahead log hears of them in their order."""

from __future__ import annotations

from functools import partial

from tests.log.log_world import HOME, LogWorld, in_loop, turns

from holdfast.log import entry


@in_loop
async def test_who_hears_of_an_entry_has_heard_of_all_before_it() -> None:
    """A2, K4: of several in a row for one listener the last is enough; another's in between is told in between."""
    house = LogWorld()
    logs = await house.open()
    told: list[tuple[str, int]] = []

    def note(who: str, number: int) -> None:
        told.append((who, number))

    listeners = {who: partial(note, who) for who in "ab"}
    for number, who in enumerate("aabba"):
        logs._ground.journal.append(
            entry.encode_prefix(entry.DELETE_RECORDS, HOME), (entry.encode_offset(0),), listeners[who], number
        )
    await turns()
    assert told == [("a", 1), ("b", 3), ("a", 4)]
    await logs.close()
