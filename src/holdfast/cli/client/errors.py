"""What can go wrong between a command and a broker, each in one sentence; the rest is in `client.errors`."""

from __future__ import annotations

from holdfast.client.codes import SOON, name_of
from holdfast.client.errors import reason_of
from holdfast.errors import HoldfastError, Rejected, Unavailable
from holdfast.protocol.codes import Code


class BrokerUnreachable(Unavailable):
    """Nobody listens where the broker should be."""

    def __init__(self, address: str, cause: BaseException) -> None:
        super().__init__(
            f"no broker answers at {address} ({reason_of(cause)}): start one with `holdfast serve`, "
            "or say with --bootstrap where it is"
        )
        self.address = address
        self.cause = cause


def _sentence(what: str, reason: str) -> str:
    """A reason that names the thing itself needs no other subject."""
    return reason if what.split()[-1] in reason else f"{what}: {reason}"


class BrokerRefused(Rejected):
    """The broker understood, and said no."""

    def __init__(self, what: str, code: int, reason: str) -> None:
        super().__init__(_sentence(what, reason))
        self.what = what
        self.code = code
        self.reason = reason


class OffsetGone(BrokerRefused):
    """The partition does not have this offset, or no longer."""


class BrokerBusy(Unavailable):
    """The broker cannot do it now, but may soon."""

    def __init__(self, what: str, code: int, reason: str) -> None:
        super().__init__(_sentence(what, reason))
        self.what = what
        self.code = code
        self.reason = reason


def check(what: str, code: int, message: str | None = None) -> None:
    """Raise unless an answer's error code says that all is well."""
    if code:
        raise refusal(what, code, message)


def refusal(what: str, code: int, message: str | None = None) -> HoldfastError:
    """An answer's error code as an error: to be tried again, or not."""
    kind = BrokerBusy if code in SOON else OffsetGone if code == Code.OFFSET_OUT_OF_RANGE else BrokerRefused
    return kind(what, code, message or name_of(code))
