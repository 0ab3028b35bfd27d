"""A request on its way through the broker."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple, TypeAlias

from holdfast.broker.guard.gate import NOTHING, SenderRights
from holdfast.broker.net.one_batch import OneBatch
from holdfast.broker.net.slices import Slices
from holdfast.io.address import Address
from holdfast.io.clock import SystemClock
from holdfast.protocol.header import RequestHeader
from holdfast.security.principal import Session
from holdfast.types import Buffer

SHARED_PACE = Slices(SystemClock())  # A handler that goes through many items gets one of its own.

Body: TypeAlias = Sequence[Buffer]  # An answer, without its size and header.


Wait: TypeAlias = Callable[[], float]  # Seconds to wait from now on, by the quotas as they are now.


def _hold_nothing(_seconds: float, _wait: Wait) -> None:
    pass


class Request(NamedTuple):
    """One request: its header, and the frame it came in, which belongs to it alone."""

    header: RequestHeader
    frame: memoryview
    session: Session  # Who it is from, from where, and through which listener.
    told: Address  # Where that listener's clients are told to find this broker.
    pace: Slices = SHARED_PACE  # How its handler goes through what it names.
    rights: SenderRights = NOTHING  # What its sender may do: whoever hands it to an API says.
    appended: Callable[[], None] | None = None  # Told when the connection's next request may begin, before the answer.
    hold: Callable[[float, Wait], None] = _hold_nothing  # Told for how many seconds the connection is not to be read.
    one: OneBatch | None = None  # What it says, where it was read in one go.

    @property
    def body(self) -> memoryview:
        return self.frame[self.header.body :]

    @property
    def client_host(self) -> str:
        return self.session.host

    @property
    def version(self) -> int:
        return self.header.api_version


new_request = partial(tuple.__new__, Request)  # Of all fields, in their order: one is made for each request.

Done: TypeAlias = Callable[[Sequence[Buffer]], None]  # With the framed answer; empty: none is sent.
