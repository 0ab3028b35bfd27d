"""Known ways to let one large request hold the loop."""

from __future__ import annotations

from tests.bugs.bug import Bug, Edit

BUGS = [
    Bug(
        "a request with very many items is worked on in one go",
        (Edit("io/turns.py", "SLICE_S = 0.002 ", "SLICE_S = 2.0 "),),
        ("tests/broker/test_largest_requests.py::test_no_step_of_any_api_takes_long",),
    ),
    Bug(
        "all topics of a heartbeat are looked at in one go",
        (
            Edit(
                "broker/api/named_topics.py",
                "    async for name in request.pace.through(names):\n",
                "    for name in names:\n",
            ),
        ),
        ("tests/broker/test_largest_requests.py::test_no_step_of_any_api_takes_long",),
    ),
    Bug(
        "all names of a request are sorted at once",
        (Edit("broker/net/slices.py", "_SORTED_COUNT = 2_000\n", "_SORTED_COUNT = 2_000_000\n"),),
        ("tests/broker/test_largest_requests.py::test_no_step_of_any_api_takes_long",),
    ),
    Bug(
        "how often each is named is counted in one go",
        (
            Edit(
                "broker/net/slices.py",
                "        counts = Counter[K]()\n"
                "        async for item in self.through(items):\n"
                "            counts[item] += 1\n"
                "        return counts\n",
                "        return Counter(items)\n",
            ),
        ),
        ("tests/broker/test_largest_requests.py::test_no_step_of_any_api_takes_long",),
    ),
]
