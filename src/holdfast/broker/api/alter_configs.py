"""AlterConfigs, which replaces all configs of a topic, and IncrementalAlterConfigs, which changes some of them."""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from holdfast.broker.api.config_resources import Resource, ResourceRefused, check_broker
from holdfast.broker.broker_configs import GROUP_PREFIX, group_configs
from holdfast.broker.codes import code_of
from holdfast.broker.configs import (
    TOPIC_CONFIGS,
    ConfigInvalid,
    Kind,
    append_items,
    check_topic_configs,
    effective,
    subtract_items,
)
from holdfast.broker.request import Request
from holdfast.errors import HoldfastError, Rejected
from holdfast.protocol.api import Key
from holdfast.protocol.codes import Code
from holdfast.protocol.messages import Message, response_class

if TYPE_CHECKING:
    from holdfast.broker.broker import Parts

_Replaced = response_class(Key.ALTER_CONFIGS)
_Changed = response_class(Key.INCREMENTAL_ALTER_CONFIGS)

Configs: TypeAlias = Mapping[str, str]
Change: TypeAlias = Callable[[Sequence[Message], Configs, Configs], Configs]  # Wanted, the broker's defaults, present.


class Operation(enum.IntEnum):
    """What IncrementalAlterConfigs does to one config."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


async def replace(parts: Parts, message: Message, request: Request) -> Message:
    answer = _Replaced.AlterConfigsResourceResponse
    return _Replaced(responses=await _alter_all(parts, message, request, _replace, answer))


async def change(parts: Parts, message: Message, request: Request) -> Message:
    answer = _Changed.AlterConfigsResourceResponse
    return _Changed(responses=await _alter_all(parts, message, request, _change, answer))


async def _alter_all(parts: Parts, message: Message, request: Request, change: Change, answer: Any) -> list[Message]:
    named = Counter((each.resource_type, each.resource_name) for each in message.resources)
    answers = []
    async for each in request.pace.through(message.resources):
        code, reason = Code.NONE, None
        try:
            if named[each.resource_type, each.resource_name] > 1:
                raise Rejected("the request names this resource twice")
            await _alter(parts, each, change, validate_only=message.validate_only)
        except HoldfastError as failure:
            code, reason = code_of(failure), str(failure)
        answers.append(
            answer(
                error_code=code,
                error_message=reason,
                resource_type=each.resource_type,
                resource_name=each.resource_name,
            )
        )
    return answers


async def _alter(parts: Parts, wanted: Message, change: Change, *, validate_only: bool) -> None:
    name = wanted.resource_name
    if wanted.resource_type == Resource.BROKER:
        check_broker(parts, name)
        if wanted.configs:
            raise ResourceRefused(
                Resource.BROKER, name, "set them when the broker starts; they are fixed while it runs"
            )
        return
    if wanted.resource_type == Resource.GROUP and name:
        _refuse_for_group(parts, name, wanted.configs)
        return
    if wanted.resource_type != Resource.TOPIC:
        raise ResourceRefused(wanted.resource_type, name, "only topics have configs that can be changed here")
    if len({each.name for each in wanted.configs}) < len(wanted.configs):
        raise Rejected("the request names a config twice")
    make = partial(change, wanted.configs, parts.topics.defaults)
    if validate_only:
        present = parts.topics.get(name).topic.configs
        check_topic_configs(make(present), present)
    else:
        await parts.topics.change_configs(name, make)


def _refuse_for_group(parts: Parts, group_id: str, configs: Sequence[Message]) -> None:
    """What there is not is told apart from what all groups have the broker's value of."""
    known = [each.name.removeprefix(GROUP_PREFIX) for each in group_configs(parts.settings)]
    for each in configs:
        if each.name not in known:
            raise ConfigInvalid(each.name, "there is no such group config")
        setting = GROUP_PREFIX + each.name
        raise ResourceRefused(Resource.GROUP, group_id, f"set {setting} for all groups when the broker starts")


def _replace(wanted: Sequence[Message], defaults: Configs, present: Configs) -> Configs:
    del present, defaults
    return {each.name: _value(each) for each in wanted}


def _change(wanted: Sequence[Message], defaults: Configs, present: Configs) -> Configs:
    configs = dict(present)
    for each in wanted:
        if each.name not in TOPIC_CONFIGS:
            raise ConfigInvalid(each.name, "there is no such topic config")
        if each.config_operation == Operation.DELETE:
            configs.pop(each.name, None)
        elif each.config_operation == Operation.SET:
            configs[each.name] = _value(each)
        else:
            configs[each.name] = _edit_list(each, effective(each.name, configs, defaults))
    return configs


def _edit_list(wanted: Message, value: str) -> str:
    if wanted.config_operation not in (Operation.APPEND, Operation.SUBTRACT):
        raise Rejected(f"config {wanted.name}: there is no operation {wanted.config_operation}")
    if TOPIC_CONFIGS[wanted.name].kind is not Kind.LIST:
        raise ConfigInvalid(wanted.name, "it is no list: nothing can be added to it or taken from it")
    edit = append_items if wanted.config_operation == Operation.APPEND else subtract_items
    return edit(value, _value(wanted))


def _value(wanted: Message) -> str:
    if wanted.value is None:
        raise Rejected(f"config {wanted.name} has no value")
    return str(wanted.value)
