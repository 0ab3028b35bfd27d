"""Calls of the subscribers' port as any gRPC client makes them: with a certificate, a password or a token."""

from __future__ import annotations

import base64
from typing import Any

import grpc

from holdfast.subscribe.client.connection import METHOD
from holdfast.subscribe.wire.schema import subscribe_pb2 as wire
from holdfast.testing.certificates import Pair

_OWN = (("grpc.use_local_subchannel_pool", 1),)  # Each channel has connections of its own.


def basic(user: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


class Caller:
    """One channel, plain or with TLS."""

    def __init__(self, address: str, trust: str = "", pair: Pair | None = None) -> None:
        if trust:
            own = (pair.key_pem().encode(), pair.chain_pem.encode()) if pair else (None, None)
            self._channel = grpc.secure_channel(address, grpc.ssl_channel_credentials(trust.encode(), *own), _OWN)
        else:
            self._channel = grpc.insecure_channel(address, _OWN)

    def call(self, *topics: str, said: str | None = None, until_now: bool = True, **fields: Any) -> Any:
        """A stream of messages; it ends with a grpc.RpcError, or with the last one."""
        method = self._channel.unary_stream(
            METHOD, request_serializer=wire.Request.SerializeToString, response_deserializer=wire.Message.FromString
        )
        end = {"until_now": True} if until_now else {}
        sources = [wire.Source(topic=each) for each in topics]
        request = wire.Request(sources=sources, since_ms=0, **end, **fields)
        return method(request, metadata=[("authorization", said)] if said is not None else [], timeout=60)

    def code(self, *topics: str, **fields: Any) -> tuple[str, str]:
        """How a call ends: its status and its words."""
        stream = self.call(*topics, **fields)
        try:
            for _ in stream:
                pass
        except grpc.RpcError:
            pass
        return stream.code().name, stream.details()

    def topics(self, *topics: str, **fields: Any) -> list[str]:
        """Those that a call opens."""
        return sorted({lane.topic for each in self.call(*topics, **fields) for lane in each.opened.lanes})

    def close(self) -> None:
        self._channel.close()
