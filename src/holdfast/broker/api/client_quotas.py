"""DescribeClientQuotas and AlterClientQuotas. Who has used theirs up waits: `Throttle`, `Broker.address_rate`."""

from __future__ import annotations

from holdfast.broker.codes import code_of
from holdfast.broker.configs.quotas import (
    Entity,
    QuotaFilter,
    QuotaRefused,
    check_entity,
    check_value,
    entity_text,
    normal,
    parse_entity,
)
from holdfast.broker.context import BrokerContext
from holdfast.broker.guard.rights import ALTER_CLUSTER_CONFIGS
from holdfast.broker.net.request import Request
from holdfast.broker.net.slices import Slices
from holdfast.cluster.metadata import Metadata, Step, set_quota
from holdfast.errors import HoldfastError
from holdfast.protocol.codes import Code
from holdfast.protocol.generated.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
    RequestEntryData,
    ResponseEntityData,
    ResponseEntryData,
)
from holdfast.protocol.generated.describe_client_quotas import (
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
    EntityData,
    EntryData,
    ValueData,
)

_PARTS_MAX = 2  # Of an entity: a user and a client id.


async def describe(
    context: BrokerContext, message: DescribeClientQuotasRequest, request: Request
) -> DescribeClientQuotasResponse:
    pace = request.pace
    try:
        wanted = [QuotaFilter.of(each.entity_type, each.match_type, each.match) for each in message.components]
        QuotaFilter.check_all(wanted)
    except QuotaRefused as failure:
        code = Code.UNSUPPORTED_VERSION if failure.kind_unknown else Code.INVALID_REQUEST
        return DescribeClientQuotasResponse(error_code=code, error_message=str(failure), entries=None)
    entries = []
    async for text, values in pace.through(context.topics.metadata.quotas.items()):
        entity = parse_entity(text)
        if QuotaFilter.all_match(wanted, entity, strict=message.strict):
            entries.append(
                EntryData(
                    entity=[EntityData(entity_type=kind, entity_name=name) for kind, name in entity.items()],
                    values=[ValueData(key=key, value=value) for key, value in values.items()],
                )
            )
    return DescribeClientQuotasResponse(error_code=Code.NONE, error_message=None, entries=entries)


async def alter(
    context: BrokerContext, message: AlterClientQuotasRequest, request: Request
) -> AlterClientQuotasResponse:
    entries = []
    async for each in request.pace.through(message.entries):
        code, reason = Code.NONE, None
        try:
            request.rights.need(ALTER_CLUSTER_CONFIGS)
            await _alter(context, each, request.pace, validate_only=message.validate_only)
        except HoldfastError as failure:
            code, reason = code_of(failure), str(failure)
        else:
            if not message.validate_only:
                context.gate.audit.changed(request.session, f"the quotas of {_named(each)}")
        named = [
            ResponseEntityData(entity_type=part.entity_type, entity_name=part.entity_name)
            async for part in request.pace.through(each.entity)
        ]
        entries.append(ResponseEntryData(error_code=code, error_message=reason, entity=named))
    return AlterClientQuotasResponse(entries=entries)


def _named(wanted: RequestEntryData) -> str:
    return ", ".join(f"{each.entity_type} {each.entity_name!r}" for each in wanted.entity)


async def _alter(context: BrokerContext, wanted: RequestEntryData, pace: Slices, *, validate_only: bool) -> None:
    entity: Entity = {}
    async for part in pace.through(wanted.entity):
        if part.entity_type in entity:
            raise QuotaRefused("an entity names a type twice")
        entity[part.entity_type] = part.entity_name
        if len(entity) > _PARTS_MAX:
            raise QuotaRefused("an entity is a user, a client id, both, or an address")
    check_entity(entity)
    entity = normal(entity)
    changes: dict[str, float | None] = {}
    async for each in pace.through(wanted.ops):
        changes[each.key] = None if each.remove else each.value
    async for key in pace.through(list(changes)):
        check_value(entity, key, changes[key])
    stored = context.topics.metadata.quotas
    text = entity_text(entity)
    if text not in stored:
        if len(stored) >= context.settings.max_client_quotas:
            raise QuotaRefused(f"there are {len(stored)} already, and no more are allowed")
        context.topics.check_size(len(text))
    if not validate_only:
        await context.topics.commit(lambda metadata: _step(metadata, entity_text(entity), changes))


def _step(metadata: Metadata, entity: str, changes: dict[str, float | None]) -> Step:
    values = {**metadata.quotas.get(entity, {}), **changes}
    return set_quota(entity, {key: value for key, value in values.items() if value is not None})
