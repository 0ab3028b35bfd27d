"""Known bugs of what is made to be fast: the look at records on the loop, and many connections that close at once."""

from __future__ import annotations

from tests.bugs.bug import Bug, Edit

LZ4 = "tests/record/test_lz4_loops.py"
RECORDS = "tests/record/test_validate.py"
CLOSES = "tests/broker/test_closes.py"
SHARE = "tests/broker/test_fetch_share.py"


def bug(name: str, file: str, old: str, new: str, *tests: str) -> Bug:
    return Bug(name, (Edit(file, old, new),), tests)


BUGS = [
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
