"""Server reflection: tools of other languages, such as grpcurl, ask for the services and their schema.

It tells what is published anyway, so nobody has to log in for it. A call is a stream of a few questions.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import grpc

from holdfast.subscribe.wire.schema import reflection_pb2 as wire
from holdfast.subscribe.wire.schema import subscribe_pb2

VERSIONS = ("grpc.reflection.v1.ServerReflection", "grpc.reflection.v1alpha.ServerReflection")
QUESTIONS_MAX = 100  # Of one call.
QUESTION_S = 10.0  # How long a call waits for the next one.


def reflection_handlers(service: str) -> list[Any]:
    """For both versions of the protocol, which differ in their names only."""

    async def answers(asked: AsyncIterator[wire.Asked], _context: Any) -> AsyncIterator[wire.Answered]:
        for _ in range(QUESTIONS_MAX):
            try:
                async with asyncio.timeout(QUESTION_S):
                    question = await anext(asked)
            except (StopAsyncIteration, TimeoutError):
                return
            yield answer(question, service)

    method = grpc.stream_stream_rpc_method_handler(
        answers, request_deserializer=wire.Asked.FromString, response_serializer=wire.Answered.SerializeToString
    )
    return [grpc.method_handlers_generic_handler(name, {"ServerReflectionInfo": method}) for name in VERSIONS]


def answer(asked: wire.Asked, service: str) -> wire.Answered:
    """One question's."""
    answered = wire.Answered(valid_host=asked.host, original_request=asked)
    schema = subscribe_pb2.DESCRIPTOR
    if asked.WhichOneof("message_request") == "list_services":
        for name in (service, *VERSIONS):
            answered.list_services_response.service.add(name=name)
    elif asked.file_containing_symbol.startswith(schema.package) or asked.file_by_filename == schema.name:
        answered.file_descriptor_response.file_descriptor_proto.append(schema.serialized_pb)
    else:
        answered.error_response.error_code = grpc.StatusCode.NOT_FOUND.value[0]
        answered.error_response.error_message = f"only {service} has a schema here"
    return answered
