"""Known bugs of what is made to be fast: the look at records on the loop, and many connections that close at once."""

from __future__ import annotations

from tests.bugs.bug import Bug, Edit

LZ4 = "tests/record/test_lz4_loops.py"
RECORDS = "tests/record/test_validate.py"
CLOSES = "tests/broker/test_closes.py"
SHARE = "tests/broker/test_fetch_share.py"
WATERMARK = "tests/test_watermark.py"
CRASHES = "tests/sim/test_crashes.py::test_no_crash_loses_or_invents_anything[0]"


def bug(name: str, file: str, old: str, new: str, *tests: str) -> Bug:
    return Bug(name, (Edit(file, old, new),), tests)


BUGS = [
    bug(
        "memory of a block is used again while a client is sent it",
        "segment/cached/block_memory.py",
        "        lent.free = self._free\n",
        "        self._free.append(whole)\n",
        "tests/segment/test_blocks.py::test_memory_of_a_block_is_used_again_only_when_nobody_sees_it",
    ),
    bug(
        "a read in pieces ends with the first block",
        "segment/cached/read.py",
        "            return window.pieces(self.start, self.end)\n",
        "            return window.pieces(self.start, self.end)[:1]\n",
        "tests/segment/test_read.py::test_in_pieces_nothing_is_copied",
    ),
    bug(
        "a read that is full steps over what it did not take",
        "segment/cached/read.py",
        "        if walk.ends_before(window, interval):\n"
        '            walk.next_offset = int(segment.index[number]["base_offset"])\n',
        "        if walk.ends_before(window, interval):\n",
        "tests/segment/test_read.py::test_every_offset_and_limit_reads_the_right_batches",
    ),
    bug(
        "whoever is called is called one too early",
        "watermark.py",
        "        while self._calls and self._calls[0][0] <= value:\n",
        "        while self._calls and self._calls[0][0] <= value + 1:\n",
        WATERMARK + "::test_who_is_to_be_called_is_called_once_and_in_order",
    ),
    bug(
        "whoever is called is not told of a failure",
        "watermark.py",
        "        for _, _, call in calls:\n",
        "        for _, _, call in ():\n",
        WATERMARK + "::test_who_is_to_be_called_is_told_of_a_failure",
    ),
    bug(
        "a request for one partition is acknowledged before the fsync",
        "broker/api/produce.py",
        "        if not waits or not partition.durable.when(place.end_offset, self._durable_one):\n",
        "        if True:\n",
        CRASHES,
    ),
    bug(
        "nothing is remembered of producers of small batches",
        "log/partition/partition.py",
        "        is_plain = header.producer_id == NO_PRODUCER and not header.is_transactional\n",
        "        is_plain = True\n",
        "tests/log/test_append.py::test_a_repeat_waits_for_the_fsync_of_its_original",
    ),
    bug(
        "a purge of the same turn of the loop does not know of an append",
        "log/logs.py",
        "        self._purge.note(partition)\n        if not self._grown:\n",
        "        if not self._grown:\n",
        CRASHES,
    ),
    bug(
        "small appends of one turn of the loop find room that is not there",
        "log/pressure/backpressure.py",
        "        if self._spare_size < 0:\n",
        "        if False:\n",
        "tests/log/test_room.py::test_producers_wait_while_the_store_is_down",
    ),
    bug(
        "a single record may be followed by anything",
        "record/validate.py",
        " or value > _PLAIN_NUMBER_MAX or data[-1]:\n",
        " or value > _PLAIN_NUMBER_MAX:\n",
        RECORDS + "::test_a_single_record_is_held_against_the_same_rules",
    ),
    bug(
        "lz4 is decompressed without the lock of the interpreter",
        "record/validate.py",
        "        if codec == Codec.LZ4:\n",
        "        if codec == Codec.GZIP:\n",
        RECORDS + "::test_on_the_loop_the_lock_of_the_interpreter_is_kept",
    ),
    bug(
        "an lz4 block may refer to what lies before it",
        "record/loops/lz4_loops.py",
        "        if distance == 0 or distance > target - start:\n",
        "        if distance == 0:\n",
        LZ4 + "::test_what_is_not_beyond_doubt_is_left_to_the_library",
    ),
    bug(
        "an lz4 block may end as no reader expects",
        "record/loops/lz4_loops.py",
        "            return target - start if is_whole else UNSURE\n",
        "            return target - start\n",
        LZ4 + "::test_what_is_not_beyond_doubt_is_left_to_the_library",
    ),
    bug(
        "what repeats itself within eight bytes is copied as if it did not",
        "record/loops/lz4_loops.py",
        " or distance < _NARROW:\n",
        ":\n",
        LZ4 + "::test_it_reads_what_clients_write",
    ),
    bug(
        "fetches of very many partitions follow one another without a rest",
        "broker/fetch/share.py",
        "        if size < _MUCH_SIZE:\n",
        "        if size < 0:\n",
        SHARE + "::test_a_producer_does_not_wait_behind_fetches_of_2000_partitions",
    ),
    bug(
        "a consumer that is behind rests",
        "broker/fetch/share.py",
        "        if size < _MUCH_SIZE:\n",
        "        if True:\n",
        SHARE + "::test_whoever_gets_much_does_not_rest",
    ),
    bug(
        "all connections that end at once are let go in one turn of the loop",
        "io/turns.py",
        "self._selector.poll(wait, AT_ONCE)",
        "self._selector.poll(wait, 100_000)",
        CLOSES + "::test_clients_that_go_at_once_are_let_go_a_few_a_turn",
    ),
    bug(
        "all idle connections are closed in one turn of the loop",
        "io/turns.py",
        "        if number and number % AT_ONCE == 0:\n",
        "        if number < 0:\n",
        CLOSES + "::test_idle_clients_are_closed_a_few_a_turn",
    ),
]
