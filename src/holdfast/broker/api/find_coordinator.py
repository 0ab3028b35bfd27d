"""FindCoordinator: it is us, unless what it would need is in quarantine."""

from __future__ import annotations

from typing import Any

from holdfast.broker.codes import group_code_of
from holdfast.broker.context import BrokerContext
from holdfast.broker.guard.rights import CLUSTER_ACTION, DESCRIBE_GROUP, DESCRIBE_TRANSACTION, NotAllowed
from holdfast.broker.net.request import Request
from holdfast.broker.topics import OFFSETS_TOPIC, TRANSACTIONS_TOPIC
from holdfast.log.errors import LedElsewhere
from holdfast.protocol.codes import Code
from holdfast.protocol.generated.find_coordinator import Coordinator, FindCoordinatorRequest, FindCoordinatorResponse

_GROUP, _TRANSACTION, _SHARE = 0, 1, 2
_ASKED = {_GROUP: DESCRIBE_GROUP, _TRANSACTION: DESCRIBE_TRANSACTION}
_NOWHERE = {"node_id": -1, "host": "", "port": -1}


async def handle(context: BrokerContext, message: FindCoordinatorRequest, request: Request) -> FindCoordinatorResponse:
    key_type = message.key_type if request.version >= 1 else _GROUP
    if request.version < 4:
        return FindCoordinatorResponse(**_found(context, request, key_type, message.key))
    wanted = request.pace.through(message.coordinator_keys)
    keys = [Coordinator(key=key, **_found(context, request, key_type, key)) async for key in wanted]
    return FindCoordinatorResponse(coordinators=keys)


def _found(context: BrokerContext, request: Request, key_type: int, key: str) -> dict[str, Any]:
    try:
        if key_type == _SHARE:
            request.rights.need(CLUSTER_ACTION)
        elif key_type in _ASKED:
            request.rights.need(_ASKED[key_type], key)
    except NotAllowed as failure:
        return {"error_code": group_code_of(failure), "error_message": str(failure), **_NOWHERE}
    if key_type == _GROUP:
        quarantined = context.groups.quarantined(key) if not context.shares.has(key) else None
    elif key_type == _TRANSACTION:
        quarantined = context.transactions.quarantined(key)
    elif key_type == _SHARE and len(key.split(":")) == 3:  # The group, a topic's id and a partition's number.
        quarantined = context.shares.quarantined(key.split(":")[0])
    else:
        return {"error_code": Code.INVALID_REQUEST, "error_message": None, **_NOWHERE}
    if quarantined is not None:
        return {"error_code": group_code_of(quarantined), "error_message": str(quarantined), **_NOWHERE}
    here = {"node_id": context.settings.node_id, "host": request.told.host, "port": request.told.port}
    if context.topics.is_shared:
        return _among_many(context, request, key_type, key, here)
    return {"error_code": Code.NONE, "error_message": None, **here}


def _among_many(
    context: BrokerContext, request: Request, key_type: int, key: str, here: dict[str, Any]
) -> dict[str, Any]:
    """Where the internal partition of a group or of a transactional id is led."""
    if key_type in (_GROUP, _SHARE):  # Share groups are where their state is.
        group_id = key if key_type == _GROUP else key.split(":")[0]
        found = context.topics.get(OFFSETS_TOPIC).logs[context.groups.partition_of(group_id)]
    else:
        found = context.topics.get(TRANSACTIONS_TOPIC).logs[context.transactions.partition_of(key)]
    if isinstance(found, LedElsewhere):
        address = dict(context.others(request.session.listener)).get(found.broker)
        if address is None:
            return {"error_code": Code.COORDINATOR_NOT_AVAILABLE, "error_message": None, **_NOWHERE}
        here = {"node_id": found.broker, "host": address.host, "port": address.port}
    return {"error_code": Code.NONE, "error_message": None, **here}
