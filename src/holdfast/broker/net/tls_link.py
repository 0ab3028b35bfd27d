"""TLS between a socket and a connection: for the event loop a protocol, for the connection its transport.

The connection begins when the handshake is done, and sees what it always sees: buffers to fill, bytes that arrived,
and something to write to. asyncio's own TLS does the same for four times the memory, and encrypts a whole answer before
its first byte leaves. Here all links of a loop receive into one buffer, bytes are decrypted right into the frame they
belong to, and an answer is encrypted piece by piece, as `Outgoing` hands it over.

OpenSSL's own buffers keep the size that they once had. So they get what one record holds at a time, and no more.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from holdfast.security.mapping import NobodysName
from holdfast.types import Buffer

if TYPE_CHECKING:
    from holdfast.broker.net.connection import Connection
    from holdfast.broker.net.listener import OpenListener
    from holdfast.broker.net.server import Server

RECEIVED_SIZE = 64 << 10  # Of the buffer that all links receive into.
_RECORD_SIZE = 16 << 10  # Plain bytes of the largest record.
_SAID_SIZE_MAX = 1 << 20  # Bytes that we owe a client which asks for new keys, again and again, and takes none.
_NOTHING = memoryview(b"")
_NO_TLS = ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "HTTPS_PROXY_REQUEST")  # What OpenSSL calls the first bytes then.


class TlsLink(asyncio.BufferedProtocol, asyncio.Transport):
    """One connection's TLS."""

    def __init__(self, server: Server, listener: OpenListener, peer: str) -> None:
        assert listener.tls is not None
        super().__init__()
        self.peer = peer
        self._server = server
        self._listener = listener
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = listener.tls.current.wrap_bio(self._incoming, self._outgoing, server_side=True)
        self._read: Callable[[int, memoryview], int] = self._tls.read  # type: ignore[assignment]  # Into a buffer.
        self._received = _NOTHING  # Of the shared buffer: what OpenSSL has not been given yet.
        self._socket: asyncio.Transport | None = None
        self._connection: Connection | None = None  # Once the handshake is done.
        self._is_reading = True
        self._is_writable = True

    # Called by the event loop

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._socket = transport
        self._server.add_handshake(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._socket = None
        if self._connection is None:
            self._server.end_handshake(self, is_lost=True)
        else:
            self._connection.connection_lost(exc)

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002
        return self._server.received

    def buffer_updated(self, nbytes: int) -> None:
        self._received = self._server.received[:nbytes]
        try:
            if self._connection is None:
                self._shake_hands()
            self._receive()
            if self._received:  # It is not read now, and the buffer is everybody's.
                self._incoming.write(self._received)
        except (ssl.SSLError, NobodysName) as failure:
            self._refuse(failure)
        self._received = _NOTHING

    def pause_writing(self) -> None:
        self._is_writable = False
        if self._connection is not None:
            self._connection.pause_writing()

    def resume_writing(self) -> None:
        self._is_writable = True
        if self._connection is not None:
            self._connection.resume_writing()

    # Receiving

    def _shake_hands(self) -> None:
        while self._socket is not None:
            try:
                self._tls.do_handshake()
            except ssl.SSLWantReadError:
                self._say()
                if not self._feed():
                    return
                continue
            self._say()
            session = self._listener.session(self.peer, self._tls.getpeercert(binary_form=True))
            began = self._server.end_handshake(self)
            self._connection = self._server.connection(self._listener, session, self.peer, began)
            self._connection.connection_made(self)
            if not self._is_writable:
                self._connection.pause_writing()
            return

    def _receive(self) -> None:
        """Decrypt what is there into the connection's own buffers, for as long as it reads."""
        connection = self._connection
        while connection is not None and self._is_reading and self._socket is not None:
            buffer = connection.get_buffer(-1)
            filled, is_all = self._decrypt(buffer)
            if filled:
                connection.buffer_updated(filled)
            if is_all:
                self._say()
                return

    def _decrypt(self, buffer: memoryview) -> tuple[int, bool]:
        """Fill the buffer as far as it goes: so many bytes, and whether there are no more."""
        filled, size = 0, len(buffer)
        while filled < size:
            try:
                count = self._read(size - filled, buffer[filled:])
            except ssl.SSLWantReadError:
                if not self._feed():
                    return filled, True
                continue
            if not count:  # The client has said goodbye.
                asyncio.get_running_loop().call_soon(self.close)
                return filled, True
            filled += count
        return filled, False

    def _feed(self) -> bool:
        """Give OpenSSL the next piece; False if there is none."""
        if not self._received:
            return False
        self._incoming.write(self._received[:_RECORD_SIZE])
        self._received = self._received[_RECORD_SIZE:]
        return True

    def _say(self) -> None:
        """Send what TLS has to say for itself."""
        if self._outgoing.pending and self._socket is not None:
            self._socket.write(self._outgoing.read())
            if self._socket.get_write_buffer_size() > _SAID_SIZE_MAX:
                self._socket.abort()

    def _refuse(self, failure: Exception) -> None:
        """What the client sent is no TLS, or not the TLS that is spoken here: tell it, and close."""
        self._server.closed["tls"] += 1
        self._server.lines.warning(
            "%s: connection to %s closed: TLS: %s", self.peer, self._listener.name, _why(failure)
        )
        self._say()
        if self._socket is not None:
            self._socket.close()

    # Called by the connection, as a transport

    def write(self, data: Buffer) -> None:
        view = memoryview(data)
        pieces = []
        try:
            while view:
                view = view[self._tls.write(view[:_RECORD_SIZE]) :]
                pieces.append(self._outgoing.read())
        except ssl.SSLError:
            self.abort()
            return
        if self._socket is not None:
            self._socket.write(pieces[0] if len(pieces) == 1 else b"".join(pieces))

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        if self._socket is not None:
            self._socket.set_write_buffer_limits(high, low)

    def get_write_buffer_size(self) -> int:
        return 0 if self._socket is None else self._socket.get_write_buffer_size()

    def pause_reading(self) -> None:
        self._is_reading = False
        if self._socket is not None:
            self._socket.pause_reading()

    def resume_reading(self) -> None:
        self._is_reading = True
        asyncio.get_running_loop().call_soon(self._read_on)

    def _read_on(self) -> None:
        """What was received before comes first."""
        try:
            self._receive()
        except ssl.SSLError as failure:
            self._refuse(failure)
        if self._is_reading and self._socket is not None and not self._socket.is_closing():
            self._socket.resume_reading()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return default if self._socket is None else self._socket.get_extra_info(name, default)

    def is_closing(self) -> bool:
        return self._socket is None or self._socket.is_closing()

    def close(self) -> None:
        if self._socket is None or self._socket.is_closing():
            return
        with contextlib.suppress(ssl.SSLError):  # It does not wait for the client's goodbye.
            self._tls.unwrap()
        self._say()
        if self._socket is not None:
            self._socket.close()

    def abort(self) -> None:
        if self._socket is not None:
            self._socket.abort()


def _why(failure: Exception) -> str:
    """For people: what the client has done, or says of us."""
    reason = str(getattr(failure, "reason", None) or failure)
    if isinstance(failure, ssl.SSLCertVerificationError):
        return f"the client's certificate is not taken: {failure.verify_message}"
    if reason in _NO_TLS:
        return f"the client speaks none ({reason}): its security.protocol has to be SSL or SASL_SSL"
    if "_ALERT_" in reason:
        return f"the client does not go on: {reason}"
    return reason
