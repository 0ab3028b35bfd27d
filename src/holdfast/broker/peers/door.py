"""Where requests of other brokers of the cluster come in: those that prove it are given a session that says so."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from holdfast.broker.net.request import Done, Request
from holdfast.broker.net.server import Work
from holdfast.broker.peers.proof import PEER_KEYS, Way, framed_answer, known_version, proven_way
from holdfast.errors import HoldfastError, Rejected
from holdfast.protocol.header import decode_request_header, decode_response_header
from holdfast.security.principal import ANONYMOUS, Session
from holdfast.types import Buffer

_SIZE = 4  # Bytes of a frame's size.
_LIVES_MAX = 10_000  # Whose requests were counted; then the first of them are forgotten, which are long over.


@dataclass(frozen=True, slots=True)
class PeerSession(Session):
    """Another broker of the cluster is at the other end: it has proven it for this one request."""

    life: int = 0


class RequestLate(Rejected):
    """A request of another life came behind a later one of it, or was meant for another than this one."""

    def __init__(self, way: Way) -> None:
        super().__init__(
            f"request {way.number} of life {way.sender} to life {way.receiver} is not carried out: it came too late"
        )


class PeerDoor:
    """In front of a broker. Belongs to one event loop."""

    def __init__(self, work: Work, life: int, secret: bytes) -> None:
        self._work = work
        self._life = life
        self._secret = secret
        self.heard: Callable[[int], None] = lambda version: None  # noqa: ARG005  # Which version another knows.
        self._last: dict[tuple[int, int], int] = {}  # The highest number of each life and API.

    def start_produce(self, request: Request, done: Done) -> bool:
        return self._work.start_produce(request, done)

    def is_peer(self, frame: memoryview) -> bool:
        """Whether a frame proves that it comes from another broker: it needs no login."""
        try:
            header = decode_request_header(frame)
            key, version = header.api_key, header.api_version
            return key in PEER_KEYS and self._way(key, version, frame, frame[header.body :]) is not None
        except HoldfastError:
            return False

    def _way(self, key: int, version: int, frame: memoryview, body: memoryview) -> Way | None:
        return proven_way(self._secret, key, version, frame, body)

    async def handle(self, request: Request) -> Sequence[Buffer]:
        key, version = request.header.api_key, request.version
        if key not in PEER_KEYS:
            return await self._work.handle(request)
        way = self._way(key, version, request.frame, request.body)
        if way is None:
            return await self._work.handle(request)
        self._count(way, key)
        self.heard(known_version(request.header.client_id))
        session = PeerSession(ANONYMOUS, request.session.host, request.session.listener, life=way.sender)
        framed = await self._work.handle(request._replace(session=session))
        frame = memoryview(b"".join(framed))[_SIZE:]
        correlation_id, start = decode_response_header(key, version, frame)
        return framed_answer(self._secret, way, key, version, correlation_id, [frame[start:]])

    def _count(self, way: Way, key: int) -> None:
        """A request counts once, and never behind a later one: its sender may have given it up, and gone on."""
        if way.receiver != self._life:
            raise RequestLate(way)  # Its number counts there: it says nothing of those that are for us.
        last = self._last.pop((way.sender, key), -1)
        self._last[way.sender, key] = max(last, way.number)
        if way.number <= last:
            raise RequestLate(way)
        if len(self._last) > _LIVES_MAX:
            del self._last[next(iter(self._last))]
