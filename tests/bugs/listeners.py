"""Known bugs of listeners."""

from __future__ import annotations

from tests.bugs.bug import Bug, Edit

LISTENERS = "tests/broker/test_listeners.py"


def bug(name: str, file: str, old: str, new: str, *tests: str) -> Bug:
    return Bug(name, (Edit(file, old, new),), tests)


BUGS = [
    bug(
        "clients are told the address of the first listener",
        "broker/net/server.py",
        "partial(self._made, each) for each in listeners}",
        "partial(self._made, listeners[0]) for each in listeners}",
        LISTENERS + "::test_each_listener_tells_its_own_address",
    ),
    bug(
        "clients are told where a listener listens, not what is advertised",
        "broker/net/listener.py",
        "told = advertised or Address(",
        "told = Address(",
        LISTENERS + "::test_each_listener_tells_its_own_address",
    ),
]
