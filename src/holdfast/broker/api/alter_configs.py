"""AlterConfigs, which replaces all configs of a resource, and IncrementalAlterConfigs, which changes some of them."""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TypeAlias, TypeVar

from holdfast.broker.api.config_resources import ConfigRights, Resource, ResourceRefused, check_broker
from holdfast.broker.codes import code_of
from holdfast.broker.configs.dynamic import (
    ALL_BROKERS,
    BROKER,
    BROKER_CONFIGS,
    GROUP,
    THROTTLES,
)
from holdfast.broker.configs.group import check_group, find_group_config, group_configs
from holdfast.broker.configs.kafka import FOREIGN
from holdfast.broker.configs.topic import (
    TOPIC_CONFIGS,
    Config,
    ConfigInvalid,
    ConfigKind,
    append_items,
    check_topic_configs,
    subtract_items,
)
from holdfast.broker.context import BrokerContext
from holdfast.broker.guard.rights import ALTER_CLUSTER_CONFIGS, ALTER_GROUP_CONFIGS, ALTER_TOPIC_CONFIGS
from holdfast.broker.net.request import Request
from holdfast.errors import Fenced, HoldfastError, Rejected
from holdfast.log.errors import LedElsewhere
from holdfast.protocol.codes import Code
from holdfast.protocol.generated import incremental_alter_configs
from holdfast.protocol.generated.alter_configs import (
    AlterableConfig,
    AlterConfigsRequest,
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    AlterConfigsResponse,
)
from holdfast.protocol.generated.incremental_alter_configs import (
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)

A = TypeVar("A")

Configs: TypeAlias = Mapping[str, str]
Known: TypeAlias = Mapping[str, Config]
Asked: TypeAlias = AlterConfigsRequest | IncrementalAlterConfigsRequest
Wanted: TypeAlias = AlterConfigsResource | incremental_alter_configs.AlterConfigsResource
Entry: TypeAlias = AlterableConfig | incremental_alter_configs.AlterableConfig
Change: TypeAlias = Callable[[Sequence[Entry], Known, Configs, Configs], Configs]  # Wanted, known, defaults, present.


FLUSH = "holdfast.flush"
_DIGITS_MAX = 9  # Of a partition's number.
_CONFIGS_MAX = 1_000  # Of one resource in one request: to look through more would hold the loop.
_RIGHTS = ConfigRights(ALTER_TOPIC_CONFIGS, ALTER_GROUP_CONFIGS, ALTER_CLUSTER_CONFIGS)
_FOLLOWED = {name: each for name, each in TOPIC_CONFIGS.items() if each.broker_name}


class Operation(enum.IntEnum):
    """What IncrementalAlterConfigs does to one config."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


async def replace(context: BrokerContext, message: AlterConfigsRequest, request: Request) -> AlterConfigsResponse:
    return AlterConfigsResponse(
        responses=await _alter_all(context, message, request, _replace, AlterConfigsResourceResponse)
    )


async def change(
    context: BrokerContext, message: IncrementalAlterConfigsRequest, request: Request
) -> IncrementalAlterConfigsResponse:
    return IncrementalAlterConfigsResponse(
        responses=await _alter_all(
            context, message, request, _change, incremental_alter_configs.AlterConfigsResourceResponse
        )
    )


async def _alter_all(
    context: BrokerContext, message: Asked, request: Request, change: Change, answer: Callable[..., A]
) -> list[A]:
    resources: Sequence[Wanted] = message.resources
    named = await request.pace.counted((each.resource_type, each.resource_name) for each in resources)
    answers = []
    async for each in request.pace.through(resources):
        code, reason = Code.NONE, None
        try:
            if named[each.resource_type, each.resource_name] > 1:
                raise Rejected("the request names this resource twice")
            _RIGHTS.check(request.rights, each.resource_type, each.resource_name)
            await _alter(context, each, change, validate_only=message.validate_only)
        except HoldfastError as failure:
            code, reason = code_of(failure), str(failure)
        else:
            if not message.validate_only and not _is_flush(each):
                names = ", ".join(one.name for one in each.configs)
                what = f"configs of {Resource(each.resource_type).name.lower()} {each.resource_name!r}: {names}"
                context.gate.audit.changed(request.session, what)
        answers.append(
            answer(
                error_code=code,
                error_message=reason,
                resource_type=each.resource_type,
                resource_name=each.resource_name,
            )
        )
    return answers


async def _alter(context: BrokerContext, wanted: Wanted, change: Change, *, validate_only: bool) -> None:
    name, kind = wanted.resource_name, wanted.resource_type
    if len(wanted.configs) > _CONFIGS_MAX:
        raise Rejected(f"{len(wanted.configs)} configs of one resource: there are not so many")
    if len({each.name for each in wanted.configs}) < len(wanted.configs):
        raise Rejected("the request names a config twice")
    if kind == Resource.BROKER:
        await _alter_broker(context, wanted, change, validate_only=validate_only)
    elif kind == Resource.GROUP and name:
        await _alter_group(context, wanted, change, validate_only=validate_only)
    elif kind == Resource.CLIENT_METRICS:
        raise ResourceRefused(kind, name, "no metrics are collected from clients")
    elif kind != Resource.TOPIC:
        raise ResourceRefused(kind, name, "only topics, groups and brokers have configs that can be changed here")
    elif _is_flush(wanted):
        await _flush(context, wanted, validate_only=validate_only)
    else:
        make = partial(change, wanted.configs, TOPIC_CONFIGS, context.topics.defaults)
        if validate_only:
            present = context.topics.get(name).topic.configs
            check_topic_configs(make(present), present)
        else:
            await context.topics.change_configs(name, make)


def _is_flush(wanted: Wanted) -> bool:
    return wanted.resource_type == Resource.TOPIC and any(each.name == FLUSH for each in wanted.configs)


async def _flush(context: BrokerContext, wanted: Wanted, *, validate_only: bool) -> None:
    """An order, and no config: nothing is stored, and the answer comes when everything is in the store.

    Where many lead, each leader is to be asked for its own partitions.
    """
    [only, *others] = wanted.configs
    topic = context.topics.get(wanted.resource_name)
    numbers = _partitions_of(only.value, len(topic.logs))
    if others or _operation(only) != Operation.SET or not numbers:
        reason = 'it is an order, which goes alone, and its value is "now", or numbers of partitions: "0,3"'
        raise ConfigInvalid(FLUSH, reason)
    for number in () if validate_only else numbers:
        try:
            log = await context.topics.led(wanted.resource_name, number)
        except LedElsewhere as failure:
            raise Fenced(f"{failure}: each leader is to be asked for its own, as `holdfast flush` does") from failure
        end = log.marks.durable
        while log.marks.flushed < end and await log.flush():
            pass


def _partitions_of(value: str | None, count: int) -> Sequence[int]:
    """Which partitions are to be flushed; none where the value is no such order."""
    if value == "now":
        return range(count)
    numbers = (value or "").split(",", count)  # One more at most than there are: then it is none.
    named = {int(each) for each in numbers if each.isascii() and each.isdigit() and len(each) <= _DIGITS_MAX}
    return sorted(named) if len(named) == len(numbers) and max(named) < count else ()


async def _alter_broker(context: BrokerContext, wanted: Wanted, change: Change, *, validate_only: bool) -> None:
    """The defaults of topics can be changed while the broker runs, for it or for all; every other setting is fixed."""
    name = wanted.resource_name
    if name != ALL_BROKERS:
        check_broker(context, name)
    named = [each for each in wanted.configs if each.name not in THROTTLES or not _is_taken_back(each)]
    for each in named:
        if each.name not in BROKER_CONFIGS:
            foreign = FOREIGN.get(each.name)
            fixed = "is set when the broker starts, if there is such a config"
            why = fixed if foreign is None else f"cannot be set here: {foreign.reason}"
            raise ResourceRefused(Resource.BROKER, name, f"{each.name} {why}")
    defaults = {
        each.broker_name: context.topics.defaults.get(topic_name, each.default)
        for topic_name, each in _FOLLOWED.items()
    }
    await _alter_dynamic(
        context, BROKER, name, partial(_checked, change, named, BROKER_CONFIGS, defaults), validate_only=validate_only
    )


def _is_taken_back(wanted: Entry) -> bool:
    return _operation(wanted) == Operation.DELETE


async def _alter_group(context: BrokerContext, wanted: Wanted, change: Change, *, validate_only: bool) -> None:
    known = group_configs(context.settings)
    for each in wanted.configs:
        find_group_config(each.name, known)
    defaults = {each.name: each.default for each in known.values()}

    def make(present: Configs) -> Configs:
        configs = _checked(change, wanted.configs, known, defaults, present)
        check_group(configs, context.settings)
        return configs

    await _alter_dynamic(context, GROUP, wanted.resource_name, make, validate_only=validate_only)


async def _alter_dynamic(
    context: BrokerContext, kind: str, name: str, make: Callable[[Configs], Configs], *, validate_only: bool
) -> None:
    if validate_only:
        make(context.topics.dynamic.of(kind, name))
    else:
        await context.topics.change_dynamic(kind, name, make)


def _checked(change: Change, wanted: Sequence[Entry], known: Known, defaults: Configs, present: Configs) -> Configs:
    """What was set before other settings were given may stay as it is."""
    configs = change(wanted, known, defaults, present)
    for name, value in configs.items():
        if present.get(name) != value:
            known[name].check(value)
    return configs


def _replace(wanted: Sequence[Entry], known: Known, defaults: Configs, present: Configs) -> Configs:
    del present, known, defaults
    return {each.name: _value(each) for each in wanted}


def _change(wanted: Sequence[Entry], known: Known, defaults: Configs, present: Configs) -> Configs:
    configs = dict(present)
    for each in wanted:
        if each.name not in known:
            raise ConfigInvalid(each.name, "there is no such topic config")
        if _operation(each) == Operation.DELETE:
            configs.pop(each.name, None)
        elif _operation(each) == Operation.SET:
            configs[each.name] = _value(each)
        else:
            value = configs.get(each.name) or defaults.get(each.name) or known[each.name].default
            configs[each.name] = _edit_list(each, known[each.name], value)
    return configs


def _edit_list(wanted: Entry, config: Config, value: str) -> str:
    if _operation(wanted) not in (Operation.APPEND, Operation.SUBTRACT):
        raise Rejected(f"config {wanted.name}: there is no operation {_operation(wanted)}")
    if config.kind is not ConfigKind.LIST:
        raise ConfigInvalid(wanted.name, "it is no list: nothing can be added to it or taken from it")
    edit = append_items if _operation(wanted) == Operation.APPEND else subtract_items
    return edit(value, _value(wanted))


def _operation(wanted: Entry) -> int:
    """AlterConfigs knows one only."""
    return wanted.config_operation if isinstance(wanted, incremental_alter_configs.AlterableConfig) else Operation.SET


def _value(wanted: Entry) -> str:
    if wanted.value is None:
        raise Rejected(f"config {wanted.name} has no value")
    return wanted.value
