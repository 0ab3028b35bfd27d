"""One connection: a request goes out as a list of buffers, its answer comes back as one.

`Connector.connect` is the one place where a connection to a broker is opened, whoever asks: what must happen to it
first, TLS (`tls`) and a login (`login`), happens there.
"""

from __future__ import annotations

import socket
import ssl
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeVar, cast

from holdfast.client.errors import BrokerLost, NotKafka, TooOld
from holdfast.client.protection.login import ClientLogin
from holdfast.client.protection.secure import PROTOCOL, Credentials
from holdfast.client.protection.tls import RECORD, end, failure_of, joined, protected
from holdfast.client.settings import ClientSettings
from holdfast.errors import HoldfastError
from holdfast.io.address import Address
from holdfast.io.chance import Chance, SystemChance
from holdfast.io.clock import Clock, SystemClock
from holdfast.protocol.api import APIS, Key
from holdfast.protocol.errors import Malformed
from holdfast.protocol.generated.api_versions import ApiVersionsRequest, ApiVersionsResponse
from holdfast.protocol.header import decode_response_header, frame_request
from holdfast.protocol.message import Message, RequestMessage
from holdfast.protocol.messages import decode_response, encode_request
from holdfast.types import Buffer

R = TypeVar("R")

_FRAME_SIZE_MAX = 1 << 30  # Bytes: no broker answers with more, so whoever does is none.
_BUFFERS_MAX = 512  # Of one call; systems allow 1,024.
_FIRST = 2  # The number of the request behind ApiVersions.
_CONNECT_S_MAX = 10.0  # For a machine to say that it is there, and a broker on it; Kafka's clients wait as long.

# Topics by name, sizes not compact: what is encoded by hand stays simple, and every broker since 0.11 knows it. From
# AddPartitionsToTxn 4, EndTxn 5 and TxnOffsetCommit 5 on, transactions follow other rules, which not all brokers know.
_NEWEST_USED = {
    Key.PRODUCE: 8,
    Key.FETCH: 11,
    Key.METADATA: 12,
    Key.OFFSET_COMMIT: 9,
    Key.OFFSET_FETCH: 9,
    Key.ADD_PARTITIONS_TO_TXN: 3,
    Key.ADD_OFFSETS_TO_TXN: 3,
    Key.TXN_OFFSET_COMMIT: 4,
    Key.END_TXN: 4,
}


class Connection:
    """One socket, one request at a time, one thread. After any failure it is closed for good."""

    def __init__(
        self, address: Address, opened: socket.socket, client_id: str, timeout_s: float, login: ClientLogin | None
    ) -> None:
        self.address = address
        self._client_id = client_id
        self._timeout_s = min(timeout_s, _CONNECT_S_MAX)
        self._login: ClientLogin | None = None
        self._asked = 0
        self._versions: dict[int, tuple[int, int]] = {}
        self._socket = opened
        try:
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._learn_versions()
            self._timeout_s = timeout_s
            self._login = login
            if login is not None:
                login.keep(self)
        except BaseException:
            self.close()
            raise

    @property
    def is_open(self) -> bool:
        return self._socket.fileno() >= 0

    def version(self, key: Key) -> int:
        """The newest version of an API that both sides know."""
        ours = APIS[key]
        oldest, newest = self._versions.get(key, (0, -1))
        best = min(newest, _NEWEST_USED.get(key, ours.max_version))
        if best < max(ours.min_version, oldest):
            ours_newest = _NEWEST_USED.get(key, ours.max_version)
            raise TooOld(str(self.address), ours.name, self._versions.get(key), (ours.min_version, ours_newest))
        return best

    def knows(self, key: Key, version: int) -> bool:
        """Whether the broker takes this version, which may be newer than what is used unless asked for."""
        oldest, newest = self._versions.get(key, (0, -1))
        return oldest <= version <= newest

    def ask(self, key: Key, request: RequestMessage[R], extra_s: float = 0.0) -> R:
        """Send a request and wait for its answer; `extra_s` longer than usual where the broker itself may wait."""
        version = self.version(key)
        body = self.exchange(key, version, encode_request(key, version, request), extra_s)
        return cast("R", self._decode(key, version, body))  # Encoding has checked that the request is one of the key.

    def exchange(self, key: Key, version: int, body: Sequence[Buffer], extra_s: float = 0.0) -> memoryview:
        """The same with bytes that are encoded already: the answer's bytes, without its header."""
        self.send(key, version, body, extra_s)
        try:
            frame = memoryview(self._receive())
            number, start = decode_response_header(key, version, frame)
        except OSError as failure:
            raise self._lost(failure) from None
        except NotKafka:
            self.close()
            raise
        except Malformed as failure:
            self.close()
            raise NotKafka(str(self.address), failure) from None
        if number != self._asked:
            self.close()
            raise NotKafka(str(self.address), f"it answers request {number}, {self._asked} was asked")
        return frame[start:]

    def send(self, key: Key, version: int, body: Sequence[Buffer], extra_s: float = 0.0) -> None:
        """Only send: a request that nobody answers."""
        if self._login is not None:
            self._login.keep(self)
        self._asked += 1
        frame = frame_request(key, version, self._asked, self._client_id, body)
        try:
            self._socket.settimeout(self._timeout_s + extra_s)
            self._send_all(frame)
        except OSError as failure:
            raise self._lost(failure) from None

    def _send_all(self, buffers: Sequence[Buffer]) -> None:
        if isinstance(self._socket, ssl.SSLSocket):
            for each in joined(buffers):
                self._socket.sendall(each)
            return
        views = [memoryview(each) for each in buffers if len(each)]
        first = 0
        while first < len(views):
            sent = self._socket.sendmsg(views[first : first + _BUFFERS_MAX])
            while sent and sent >= len(views[first]):
                sent -= len(views[first])
                first += 1
            if sent:
                views[first] = views[first][sent:]

    def _receive(self) -> bytearray:
        head = self._take(4)
        if head.startswith(RECORD):
            raise NotKafka(str(self.address), f"it speaks TLS: set {PROTOCOL} to SSL or SASL_SSL")
        (size,) = struct.unpack(">i", head)
        if not 0 <= size <= _FRAME_SIZE_MAX:
            raise NotKafka(str(self.address), f"it announces an answer of {size} bytes")
        return self._take(size)

    def _take(self, size: int) -> bytearray:
        data = bytearray(size)
        view = memoryview(data)
        while view:
            count = self._socket.recv_into(view)
            if not count:
                raise ConnectionResetError("the broker closed the connection")
            view = view[count:]
        return data

    def _learn_versions(self) -> None:
        request = ApiVersionsRequest(client_software_name="holdfast", client_software_version="1")
        version = APIS[Key.API_VERSIONS].max_version
        body = self.exchange(Key.API_VERSIONS, version, encode_request(Key.API_VERSIONS, version, request))
        answer = cast(ApiVersionsResponse, self._decode(Key.API_VERSIONS, version, body))
        self._versions = {each.api_key: (each.min_version, each.max_version) for each in answer.api_keys}

    def _decode(self, key: Key, version: int, body: memoryview) -> Message:
        try:
            return decode_response(key, version, body)
        except Malformed as failure:
            self.close()
            raise NotKafka(str(self.address), failure) from None

    def _lost(self, failure: OSError) -> HoldfastError:
        self.close()
        if isinstance(failure, ssl.SSLError) and self._asked <= 1:  # TLS 1.3 refuses us behind the handshake.
            return failure_of(self.address, failure)
        return BrokerLost(str(self.address), failure, self._hint())

    def _hint(self) -> str:
        """What may be the matter if whoever listens closes so early."""
        has_tls = isinstance(self._socket, ssl.SSLSocket)
        if self._asked <= 1:
            wants = "a certificate, name yours in ssl.keystore.location" if has_tls else f"TLS, set {PROTOCOL}"
            return f" at once; if it wants {wants}"
        if self._asked == _FIRST and self._login is None:
            return f" at the first request; if it wants a login, set {PROTOCOL} and sasl.mechanism"
        return ""

    def close(self) -> None:
        end(self._socket)


@dataclass(frozen=True, slots=True)
class Connector:
    """Opens connections to the brokers of one cluster."""

    settings: ClientSettings
    client_id: str
    timeout_s: float  # For one answer.
    clock: Clock = field(default_factory=SystemClock)
    chance: Chance = field(default_factory=SystemChance)

    def connect(self, address: Address) -> Connection:
        """A connection that is ready to be asked. An OSError says that nobody listens there."""
        protection = self.settings.security.open()
        context = protection.context()
        opened = socket.create_connection(address, min(self.timeout_s, _CONNECT_S_MAX))
        opened = protected(opened, address, context)
        login = None
        if protection.credentials is not None:
            login = ClientLogin(self._credentials, self.clock, self.chance)
        return Connection(address, opened, self.client_id, self.timeout_s, login)

    def _credentials(self) -> Credentials:
        """As they are now."""
        found = self.settings.security.open().credentials
        assert found is not None  # The same words have said so before.
        return found
