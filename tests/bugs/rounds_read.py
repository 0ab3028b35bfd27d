"""Bugs of reading acknowledged records from rounds, without a broker."""

from __future__ import annotations

from tests.bugs.bug import Bug, Edit

ROUNDS = "tests/catalog/test_rounds.py"
LOST = f"{ROUNDS}::test_a_catalog_reads_what_no_broker_has_flushed[a directory]"

BUGS = [
    Bug(
        "records in segments come although a marker in rounds took them back",
        (Edit("catalog/plan.py", "*_touching(undone, start, end)))", "*_touching((), start, end)))"),),
        (LOST,),
    ),
    Bug(
        "records in rounds come although they were aborted",
        (Edit("catalog/plan.py", "_touching(tail.aborted, *wanted)", "_touching((), *wanted)"),),
        (LOST,),
    ),
    Bug(
        "a read of rounds goes into an open transaction",
        (Edit("catalog/tail.py", "transactions.last_stable(end)", "end"),),
        (LOST,),
    ),
    Bug(
        "a transaction that is open in segments is forgotten in rounds",
        (
            Edit(
                "catalog/tail.py",
                "{each.producer_id: each.first_offset for each in manifest.open_transactions}",
                "{}",
            ),
        ),
        (LOST,),
    ),
    Bug(
        "a round that went while it was waited for ends the read",
        (Edit("catalog/read.py", "any(each.name == name for each in piece.runs)", "False"),),
        (f"{ROUNDS}::test_rounds_that_go_while_they_are_read_are_read_from_segments",),
    ),
    Bug(
        "what was aborted in rounds comes from the segments that took their place",
        (
            Edit("catalog/read.py", "max(start, end)), missing.aborted", "max(start, end)), ()"),
            Edit("catalog/plan.py", "tuple(manifest.segments.aborted(start, end)) if committed else ()", "()"),
        ),
        (f"{ROUNDS}::test_rounds_that_go_while_they_are_read_are_read_from_segments",),
    ),
    Bug(
        "a stream keeps the epoch of the segments for what it has read in rounds",
        (Edit("spark/source/view.py", "manifest.epoch if tail is None else tail.epoch", "manifest.epoch"),),
        (f"{ROUNDS}::test_a_stream_without_a_broker_goes_on_over_flushes_and_kills",),
    ),
    Bug(
        "an idle stream does not look for rounds",
        (Edit("spark/source/looks.py", "view.catalog.rounds_have_moved() or ", ""),),
        (f"{ROUNDS}::test_an_idle_stream_sees_a_round_at_its_next_trigger",),
    ),
]
