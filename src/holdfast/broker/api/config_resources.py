"""What configs belong to, and ListConfigResources."""

from __future__ import annotations

import enum
from typing import NamedTuple

from holdfast.broker.configs.dynamic import GROUP
from holdfast.broker.context import BrokerContext
from holdfast.broker.guard.gate import SenderRights
from holdfast.broker.guard.rights import Right
from holdfast.broker.net.request import Request
from holdfast.errors import Rejected
from holdfast.protocol.codes import Code
from holdfast.protocol.generated.list_config_resources import (
    ConfigResource,
    ListConfigResourcesRequest,
    ListConfigResourcesResponse,
)


class Resource(enum.IntEnum):
    """The kinds of things that have configs, as requests number them."""

    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32


class ConfigRights(NamedTuple):
    """Which right configs need, by what they belong to."""

    of_topic: Right
    of_group: Right
    of_all_else: Right

    def check(self, rights: SenderRights, kind: int, name: str) -> None:
        """Raises NotAllowed."""
        if kind == Resource.TOPIC:
            rights.need(self.of_topic, name)
        elif kind == Resource.GROUP:
            rights.need(self.of_group, name)
        else:
            rights.need(self.of_all_else)


class ResourceRefused(Rejected):
    """There is nothing of this kind, or of this name, that has configs."""

    def __init__(self, kind: int, name: str, reason: str) -> None:
        super().__init__(f"configs of {name or 'everything'} (resource type {kind}): {reason}")
        self.kind = kind
        self.name = name


def check_broker(context: BrokerContext, name: str) -> None:
    """Raise unless `name` is this broker's."""
    if name != str(context.settings.node_id):
        raise ResourceRefused(Resource.BROKER, name, f"this is broker {context.settings.node_id}")


async def list_resources(
    context: BrokerContext, message: ListConfigResourcesRequest, request: Request
) -> ListConfigResourcesResponse:
    wanted = set(message.resource_types or Resource) if request.version > 0 else {Resource.CLIENT_METRICS}
    if not wanted <= set(Resource):
        return ListConfigResourcesResponse(error_code=Code.UNSUPPORTED_VERSION, config_resources=[])
    found: list[tuple[Resource, str]] = []
    if Resource.TOPIC in wanted:
        found += [(Resource.TOPIC, each.topic.name) for each in context.topics.all()]
    if Resource.BROKER in wanted:
        found.append((Resource.BROKER, str(context.settings.node_id)))
    if Resource.GROUP in wanted:
        found += [(Resource.GROUP, each) for each in context.topics.dynamic.resources(GROUP)]
    resources = [ConfigResource(resource_name=name, resource_type=kind) for kind, name in found]
    return ListConfigResourcesResponse(error_code=Code.NONE, config_resources=resources)
