"""The commands' way to a broker: the one client, asking whoever was named, in the words of a command line.

What the broker advertises to other clients is not looked at: whoever names a broker means that one.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from holdfast.cli.terminal.options import DEFAULT_BOOTSTRAP
from holdfast.cli.terminal.talk import tell
from holdfast.client import Client, ClientSettings
from holdfast.client.errors import BrokerUnreachable, NodeUnreachable, NotNow, TopicNotFound, reason_of
from holdfast.errors import HoldfastError, Rejected, Unavailable

_PATIENCE_S = 30.0  # How long a broker may be away before a command that stays gives up.
_ASKED_S_MIN, _ASKED_S_MAX = 1.0, 5.0  # How long one try may take, of those who wait.


def broker_at(bootstrap: str | None, config: Path | None) -> ClientSettings:
    """What --bootstrap and --command-config say, or else HOLDFAST_BOOTSTRAP."""
    return ClientSettings.read(config, bootstrap, os.environ.get("HOLDFAST_BOOTSTRAP") or DEFAULT_BOOTSTRAP)


@contextmanager
def asking(where: ClientSettings) -> Iterator[Client]:
    """A client that asks once: what cannot be done now is a failure at once."""
    with _in_our_words(), Client(where, follow_leaders=False, patience_s=0) as client:
        yield client


@contextmanager
def waiting(where: ClientSettings, patience_s: float) -> Iterator[Client]:
    """A client that asks until patience ends, also when somebody is there who does not answer, and says so."""
    asked_s = min(max(patience_s, _ASKED_S_MIN), _ASKED_S_MAX)
    with (
        _in_our_words(),
        Client(where, follow_leaders=False, timeout_s=asked_s, patience_s=patience_s, on_wait=_tell_waits) as client,
    ):
        yield client


@contextmanager
def staying(where: ClientSettings) -> Iterator[Client]:
    """A client that outlives a restart of the broker, and says so. One that is not there at first is a failure."""
    with (
        _in_our_words(),
        Client(where, follow_leaders=False, patience_s=_PATIENCE_S, on_wait=_tell_why) as client,
    ):
        client.connect()
        yield client


def _tell_waits(failure: HoldfastError, patience_s: float) -> None:
    if isinstance(failure, BrokerUnreachable):
        why = f"no broker answers at {failure.addresses} yet ({reason_of(failure.cause)})"
    else:
        why = failure.sentence if isinstance(failure, NotNow) else str(failure)
    tell(f"holdfast: {why}; waiting, {patience_s:.0f} s at most")


def _tell_why(failure: HoldfastError, patience_s: float) -> None:
    why = failure.sentence if isinstance(failure, NotNow) else str(_worded(failure))
    tell(f"holdfast: {why}; trying again for {patience_s:.0f} s")


@contextmanager
def _in_our_words() -> Iterator[None]:
    try:
        yield
    except (BrokerUnreachable, TopicNotFound) as failure:
        raise _worded(failure) from failure


def _worded(failure: HoldfastError) -> HoldfastError:
    """What a person at a command line can do about it has other names than for a program."""
    if isinstance(failure, BrokerUnreachable) and not isinstance(failure, NodeUnreachable):
        return Unavailable(
            f"no broker answers at {failure.addresses} ({reason_of(failure.cause)}): start one with `holdfast serve`, "
            "or say with --bootstrap where it is"
        )
    if isinstance(failure, TopicNotFound):
        return Rejected(f"topic {failure.topic}: unknown topic or partition")
    return failure
