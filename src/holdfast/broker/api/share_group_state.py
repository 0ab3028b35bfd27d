"""ReadShareGroupState and WriteShareGroupState: leaders of partitions ask the coordinator of a share group.

For brokers of the cluster only, which prove that they are: nobody else gets anything but a refusal.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

from holdfast.broker.codes import group_code_of
from holdfast.broker.context import BrokerContext
from holdfast.broker.guard.rights import CLUSTER_ACTION
from holdfast.broker.net.request import Request
from holdfast.broker.peers.door import PeerSession
from holdfast.broker.peers.share_messages import (
    StateRead,
    StateWrite,
    homes_in,
    read_result,
    reads_in,
    write_result,
    writes_in,
)
from holdfast.coordinator.share.errors import ShareLeaderOld
from holdfast.coordinator.share.partition import Image
from holdfast.coordinator.share.records import StoredState
from holdfast.errors import HoldfastError
from holdfast.protocol.codes import Code
from holdfast.protocol.generated.read_share_group_state import (
    ReadShareGroupStateRequest,
    ReadShareGroupStateResponse,
    ReadStateResult,
)
from holdfast.protocol.generated.write_share_group_state import (
    WriteShareGroupStateRequest,
    WriteShareGroupStateResponse,
    WriteStateResult,
)

T = TypeVar("T")
_REFUSAL = "these requests are for brokers of this cluster"
_NOTHING = StoredState(Image(-1, ()))


async def read(
    context: BrokerContext, message: ReadShareGroupStateRequest, request: Request
) -> ReadShareGroupStateResponse:
    async def one(asked: StateRead) -> ReadStateResult:
        code, said, state = await _tried(context.shares.read_state(*asked))
        return read_result(asked[1], code, said, state or _NOTHING)

    asked = request.pace.through(reads_in(message))
    if code := _refusal(request):
        results = [read_result(home, code, _REFUSAL, _NOTHING) async for _, home, _ in asked]
        return ReadShareGroupStateResponse(results=results)
    return ReadShareGroupStateResponse(results=await asyncio.gather(*[one(each) async for each in asked]))


async def write(
    context: BrokerContext, message: WriteShareGroupStateRequest, request: Request
) -> WriteShareGroupStateResponse:
    async def one(told: StateWrite) -> WriteStateResult:
        code, said, _ = await _tried(context.shares.write_state(*told))
        return write_result(told[1], code, said)

    if code := _refusal(request):
        homes = request.pace.through(homes_in(message))
        return WriteShareGroupStateResponse(results=[write_result(home, code, _REFUSAL) async for home in homes])
    await context.logs.room()
    told = request.pace.through(writes_in(message))
    return WriteShareGroupStateResponse(results=await asyncio.gather(*[one(each) async for each in told]))


def _refusal(request: Request) -> Code:
    """Why whoever is no broker gets nothing; NONE for a broker."""
    if isinstance(request.session, PeerSession):
        return Code.NONE
    return Code.INVALID_REQUEST if request.rights.may(CLUSTER_ACTION) else Code.CLUSTER_AUTHORIZATION_FAILED


async def _tried(work: Awaitable[T]) -> tuple[Code, str | None, T | None]:
    try:
        return Code.NONE, None, await work
    except ShareLeaderOld as failure:
        return Code.FENCED_LEADER_EPOCH, str(failure), None
    except HoldfastError as failure:
        return group_code_of(failure), str(failure), None
