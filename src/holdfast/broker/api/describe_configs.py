"""DescribeConfigs: the configs of topics, of groups and of this broker, and where each value comes from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holdfast.broker.api.config_resources import Resource, ResourceRefused, check_broker
from holdfast.broker.broker_configs import GROUP_PREFIX, BrokerConfig, broker_configs, group_configs
from holdfast.broker.codes import code_of
from holdfast.broker.configs import TOPIC_CONFIGS, Source, effective, source_of
from holdfast.broker.request import Request
from holdfast.errors import HoldfastError
from holdfast.protocol.api import Key
from holdfast.protocol.codes import Code
from holdfast.protocol.messages import Message, response_class

if TYPE_CHECKING:
    from holdfast.broker.broker import Parts

_Answer = response_class(Key.DESCRIBE_CONFIGS)
_Result = _Answer.DescribeConfigsResult
_Config = _Result.DescribeConfigsResourceResult
_Synonym = _Config.DescribeConfigsSynonym


async def handle(parts: Parts, message: Message, request: Request) -> Message:
    return _Answer(results=[_describe(parts, each, message) async for each in request.pace.through(message.resources)])


def _describe(parts: Parts, wanted: Message, message: Message) -> Message:
    named: dict[str, Any] = {"resource_type": wanted.resource_type, "resource_name": wanted.resource_name}
    try:
        found = _configs(parts, wanted)
    except HoldfastError as failure:
        return _Result(error_code=code_of(failure), error_message=str(failure), configs=[], **named)
    keys = None if wanted.configuration_keys is None else set(wanted.configuration_keys)
    configs = [each for each in found if keys is None or each.name in keys]
    for each in configs:
        each.synonyms = each.synonyms if message.include_synonyms else []
        each.documentation = each.documentation if message.include_documentation else None
    return _Result(error_code=Code.NONE, error_message=None, configs=configs, **named)


def _configs(parts: Parts, wanted: Message) -> list[Message]:
    if wanted.resource_type == Resource.TOPIC:
        return _of_topic(parts, parts.topics.get(wanted.resource_name).topic.configs)
    if wanted.resource_type == Resource.BROKER:
        if not wanted.resource_name:
            return []  # What was set for all brokers while they ran: nothing ever is.
        check_broker(parts, wanted.resource_name)
        return _of_broker(parts)
    if wanted.resource_type == Resource.GROUP and wanted.resource_name:
        return [_shown(config, config.name.removeprefix(GROUP_PREFIX)) for config in group_configs(parts.settings)]
    raise ResourceRefused(wanted.resource_type, wanted.resource_name, "only topics, groups and brokers have any here")


def _of_topic(parts: Parts, configs: Any) -> list[Message]:
    defaults = parts.topics.defaults
    shown = []
    for config in TOPIC_CONFIGS.values():
        values = [
            (config.name, configs.get(config.name), Source.TOPIC),
            (config.broker_name, defaults.get(config.name), Source.BROKER),
            (config.broker_name or config.name, config.default, Source.DEFAULT),
        ]
        broker_says_nothing = defaults.get(config.name) == config.default
        shown.append(
            _Config(
                name=config.name,
                value=effective(config.name, configs, defaults),
                read_only=False,
                config_source=source_of(config.name, configs, defaults),
                is_sensitive=False,
                synonyms=[
                    _Synonym(name=name, value=value, source=source)
                    for name, value, source in values
                    if value is not None and not (source is Source.BROKER and broker_says_nothing)
                ],
                config_type=config.kind,
                documentation=config.effect or "Accepted; changes nothing here.",
            )
        )
    return shown


def _of_broker(parts: Parts) -> list[Message]:
    return [_shown(each, each.name) for each in broker_configs(parts.settings, f"{parts.host}:{parts.port}")]


def _shown(config: BrokerConfig, name: str) -> Message:
    """A setting of the broker, under this name."""
    synonyms = [_Synonym(name=config.name, value=config.default, source=Source.DEFAULT)]
    if config.source is Source.BROKER:
        synonyms.insert(0, _Synonym(name=config.name, value=config.value, source=Source.BROKER))
    return _Config(
        name=name,
        value=config.value,
        read_only=True,
        config_source=config.source,
        is_sensitive=False,
        synonyms=synonyms,
        config_type=config.kind,
        documentation=config.meaning,
    )
