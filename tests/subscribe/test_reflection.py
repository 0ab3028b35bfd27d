"""Server reflection: what tools such as grpcurl ask for."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import grpc
import grpc.aio
import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from tests.log.log_world import in_loop
from tests.subscribe.place import place_with

from holdfast.subscribe.server.reflection import VERSIONS
from holdfast.subscribe.server.service import SERVICE
from holdfast.subscribe.wire.schema import reflection_pb2 as wire


@in_loop
@pytest.mark.parametrize("version", VERSIONS)
async def test_services_and_their_schema(tmp_path: Path, version: str) -> None:
    """S1: the services by name, the schema by a symbol or its file, and a sentence for anything else."""
    asked = [
        wire.Asked(list_services="*"),
        wire.Asked(file_containing_symbol=SERVICE),
        wire.Asked(file_by_filename="subscribe.proto"),
        wire.Asked(file_containing_symbol="somebody.Else"),
    ]

    async def questions() -> AsyncIterator[wire.Asked]:
        for each in asked:
            yield each

    async with place_with(tmp_path) as place, grpc.aio.insecure_channel(place.address) as channel:
        method = channel.stream_stream(
            f"/{version}/ServerReflectionInfo",
            request_serializer=wire.Asked.SerializeToString,
            response_deserializer=wire.Answered.FromString,
        )
        services, by_symbol, by_name, unknown = [each async for each in method(questions())]
    assert [each.name for each in services.list_services_response.service] == [SERVICE, *VERSIONS]
    for each in (by_symbol, by_name):
        [raw] = each.file_descriptor_response.file_descriptor_proto
        schema = FileDescriptorProto.FromString(raw)
        assert [f"{schema.package}.{one.name}" for one in schema.service] == [SERVICE]
    assert unknown.error_response.error_code == grpc.StatusCode.NOT_FOUND.value[0]
