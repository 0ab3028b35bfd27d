"""FindCoordinator: it is us."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.broker.codes import Code
from holdfast.broker.request import Request
from holdfast.protocol.api import Key
from holdfast.protocol.messages import Message, response_class

if TYPE_CHECKING:
    from holdfast.broker.broker import Parts

_Answer = response_class(Key.FIND_COORDINATOR)
_GROUP, _TRANSACTION = 0, 1


async def handle(parts: Parts, message: Message, request: Request) -> Message:
    key_type = message.key_type if request.version >= 1 else _GROUP
    code = Code.NONE if key_type in (_GROUP, _TRANSACTION) else Code.INVALID_REQUEST
    where = {"node_id": parts.settings.node_id, "host": parts.host, "port": parts.port}
    if code:
        where = {"node_id": -1, "host": "", "port": -1}
    if request.version < 4:
        return _Answer(error_code=code, error_message=None, **where)
    keys = [
        _Answer.Coordinator(key=key, error_code=code, error_message=None, **where) for key in message.coordinator_keys
    ]
    return _Answer(coordinators=keys)
