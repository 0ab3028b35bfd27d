"""K12: a subscription steps over a batch that nobody can read, says so, and goes on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.log.log_world import in_loop
from tests.record.test_malformed import malformed
from tests.subscribe.place import OLD_MS, place_with, write

from holdfast.subscribe import NOW, subscribe

BAD = malformed("00 00 00 00 01 01 00" * 3, 3, 2)


@pytest.mark.parametrize("refs", [False, True])
@pytest.mark.parametrize("many", [1, 40])
@in_loop
async def test_a_batch_that_nobody_can_read_is_stepped_over(
    tmp_path: Path,
    refs: bool,
    many: int,
    caplog: Any,
) -> None:
    """K12: from segments and from the tail, few and many; the offsets are counted, and named with the reason."""
    async with place_with(tmp_path) as place:
        (log,) = await place.topic("t")
        times = [OLD_MS + number for number in range(many)]
        await write(log, times)
        await log.append(bytearray(BAD))
        await write(log, times, first=many)
        await log.flush()
        await log.append(bytearray(BAD))
        await write(log, times, first=2 * many)
        options: Any = {"since": 0, "until": NOW, "objects": place.objects, "segment_refs": refs}
        async with subscribe(place.address, "t", **options) as subscription:
            found = [event async for event in subscription]
            assert subscription.stats.skipped == 6
        assert log.ground.unreadable.by["subscription"] == (1 if refs else 2)  # The client reads segments itself.
        assert [event.value for event in found] == [b"v%d" % number for number in range(3 * many)]
    assert f"offsets [{many}, {many + 3}) cannot be read, and are skipped" in caplog.text
