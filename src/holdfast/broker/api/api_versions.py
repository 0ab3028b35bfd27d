"""ApiVersions: what we can do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.broker.request import Request
from holdfast.protocol.api import Key
from holdfast.protocol.messages import Message, response_class

if TYPE_CHECKING:
    from holdfast.broker.broker import Parts


async def handle(parts: Parts, message: Message, request: Request) -> Message:
    from holdfast.broker.table import advertised  # The table lists this very function.

    del parts, message, request
    answer = response_class(Key.API_VERSIONS)
    return answer(
        api_keys=[
            answer.ApiVersion(api_key=row.key, min_version=row.advertised_from, max_version=row.max_version)
            for row in advertised()
        ]
    )
