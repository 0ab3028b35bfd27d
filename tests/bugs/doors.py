"""Known bugs of who is let in."""

from __future__ import annotations

from tests.bugs.bug import Bug, Edit

DOORS = "tests/hostile/test_doors.py"
SUBSCRIPTIONS = "tests/hostile/test_subscriptions.py"


def bug(name: str, file: str, old: str, new: str, *tests: str) -> Bug:
    return Bug(name, (Edit(file, old, new),), tests)


BUGS = [
    bug(
        "the rate of an address is kept and not held",
        "io/accept.py",
        "        if wait_s > 0:\n            self._refuse_later",
        "        if False:\n            self._refuse_later",
        DOORS + "::test_an_address_has_the_rate_of_its_quota",
    ),
    bug(
        "an address with a rate of its own has that of all others",
        "broker/configs/quotas.py",
        "    for name in (normal_address(address), None):\n",
        "    for name in (None,):\n",
        DOORS + "::test_an_address_has_the_rate_of_its_quota",
    ),
    bug(
        "every connection has memory of its own for what it receives",
        "broker/net/connection.py",
        "Frames(server.limits.frame_size_max, server.shared_buffer)\n",
        'Frames(server.limits.frame_size_max, memoryview(bytearray(b"x" * len(server.shared_buffer))))\n',
        "tests/hostile/test_ten_thousand.py",
    ),
    bug(
        "the port of subscriptions takes every connection",
        "subscribe/server/service.py",
        '        ("grpc.max_allowed_incoming_connections", settings.connections_max),\n',
        "",
        SUBSCRIPTIONS + "::test_connections_that_do_not_subscribe",
    ),
    bug(
        "handshakes that never come lock others out of a port",
        "io/streams.py",
        "            oldest = next(iter(shaking))\n            del shaking[oldest]\n            oldest.cancel()\n",
        "            taken.close()\n            continue\n",
        "tests/io/test_streams.py",
    ),
]
