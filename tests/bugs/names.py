"""Known ways to misread the names of objects, or to count offsets twice."""

from __future__ import annotations

from tests.bugs.bug import Bug, Edit

NAMES = "tests/segment/test_names.py"

BUGS = [
    Bug(
        "ranges that touch are not joined",
        (Edit("types.py", "if made and start <= made[-1].end:", "if made and start < made[-1].end:"),),
        (f"{NAMES}::test_ranges_that_touch_are_one",),
    ),
    Bug(
        "what begins like a segment's name is one",
        (Edit("segment/names.py", "_SEGMENT.fullmatch(name)", "_SEGMENT.match(name)"),),
        (f"{NAMES}::test_another_name_is_no_segment",),
    ),
]
