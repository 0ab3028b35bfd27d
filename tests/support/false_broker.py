"""Somebody at a broker's address who is not the broker: knows the protocol, but not the password."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from holdfast.protocol.api import APIS, Key
from holdfast.protocol.generated.api_versions import ApiVersion, ApiVersionsResponse
from holdfast.protocol.generated.sasl_authenticate import SaslAuthenticateResponse
from holdfast.protocol.generated.sasl_handshake import SaslHandshakeResponse
from holdfast.protocol.header import decode_request_header, frame_response
from holdfast.protocol.messages import decode_request, encode_response


class FalseBroker:
    """Takes every proof, and proves nothing. `asked` are the APIs that clients asked for."""

    def __init__(self) -> None:
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listening.getsockname()[1]}"
        self.asked: list[int] = []

    @contextmanager
    def running(self) -> Iterator[FalseBroker]:
        thread = threading.Thread(target=self._serve, daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self._listening.shutdown(socket.SHUT_RDWR)
            self._listening.close()
            thread.join()

    def _serve(self) -> None:
        while True:
            try:
                link, _ = self._listening.accept()
            except OSError:
                return
            with link, link.makefile("rb") as frames:
                while size := frames.read(4):
                    link.sendall(self._answer(memoryview(frames.read(struct.unpack(">i", size)[0]))))

    def _answer(self, frame: memoryview) -> bytes:
        header = decode_request_header(frame)
        key = Key(header.api_key)
        self.asked.append(key)
        said: Any = decode_request(key, header.api_version, frame[header.body :])
        answer = encode_response(key, header.api_version, self._said(key, said))
        return b"".join(frame_response(key, header.api_version, header.correlation_id, answer))

    def _said(self, key: Key, asked: Any) -> Any:
        if key is Key.API_VERSIONS:
            known = [
                ApiVersion(api_key=each.key, min_version=each.min_version, max_version=each.max_version)
                for each in APIS.values()
            ]
            return ApiVersionsResponse(error_code=0, api_keys=known)
        if key is Key.SASL_HANDSHAKE:
            return SaslHandshakeResponse(error_code=0, mechanisms=[asked.mechanism])
        token = bytes(asked.auth_bytes).decode()
        nonce = token.rpartition("r=")[2]
        told = f"r={nonce}more,s=c2FsdA==,i=4096" if token.startswith("n,,") else "v=bm90aGluZw=="
        return SaslAuthenticateResponse(error_code=0, error_message=None, auth_bytes=told.encode())
