"""Known ways to let one large request hold the loop."""

from __future__ import annotations

from tests.bugs.bug import Bug, Edit

BUGS = [
    Bug(
        "a request with very many items is worked on in one go",
        (Edit("broker/net/slices.py", "SLICE_S = 0.002\n", "SLICE_S = 2.0\n"),),
        ("tests/broker/test_largest_requests.py::test_no_step_of_any_api_takes_long",),
    ),
]
