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
            await _alter(context, each, validate_only=message.validate_only)
        except HoldfastError as failure:
            code, reason = code_of(failure), str(failure)
        else:
            if not message.validate_only:
                context.gate.audit.changed(request.session, f"the quotas of {_named(each)}")
        named = [ResponseEntityData(entity_type=part.entity_type, entity_name=part.entity_name) for part in each.entity]
        entries.append(ResponseEntryData(error_code=code, error_message=reason, entity=named))
    return AlterClientQuotasResponse(entries=entries)


def _named(wanted: RequestEntryData) -> str:
    return ", ".join(f"{each.entity_type} {each.entity_name!r}" for each in wanted.entity)


async def _alter(context: BrokerContext, wanted: RequestEntryData, *, validate_only: bool) -> None:
    entity: Entity = {each.entity_type: each.entity_name for each in wanted.entity}
    if len(entity) < len(wanted.entity):
        raise QuotaRefused("an entity names a type twice")
    check_entity(entity)
    entity = normal(entity)
    changes = {each.key: None if each.remove else each.value for each in wanted.ops}
    for key, value in changes.items():
        check_value(entity, key, value)
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
