"""DescribeConfigs: the configs of topics, of groups and of this broker, and where each value comes from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from holdfast.broker.api.config_resources import ConfigRights, Resource, ResourceRefused, check_broker
from holdfast.broker.codes import code_of
from holdfast.broker.configs.broker import BrokerConfig, broker_configs
from holdfast.broker.configs.dynamic import ALL_BROKERS, BROKER, BROKER_CONFIGS, GROUP
from holdfast.broker.configs.group import group_configs
from holdfast.broker.configs.topic import TOPIC_CONFIGS, Config, ConfigKind, ConfigSource
from holdfast.broker.context import BrokerContext
from holdfast.broker.guard.rights import DESCRIBE_CLUSTER_CONFIGS, DESCRIBE_GROUP_CONFIGS, DESCRIBE_TOPIC_CONFIGS
from holdfast.broker.net.request import Request
from holdfast.errors import HoldfastError, Rejected
from holdfast.protocol.codes import Code
from holdfast.protocol.generated.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
)

_RIGHTS = ConfigRights(DESCRIBE_TOPIC_CONFIGS, DESCRIBE_GROUP_CONFIGS, DESCRIBE_CLUSTER_CONFIGS)


async def handle(context: BrokerContext, message: DescribeConfigsRequest, request: Request) -> DescribeConfigsResponse:
    seen: set[tuple[int, str]] = set()
    return DescribeConfigsResponse(
        results=[
            _describe(context, each, message, request, seen) async for each in request.pace.through(message.resources)
        ]
    )


def _describe(
    context: BrokerContext,
    wanted: DescribeConfigsResource,
    message: DescribeConfigsRequest,
    request: Request,
    seen: set[tuple[int, str]],
) -> DescribeConfigsResult:
    """One resource. A broker has hundreds of configs: whoever names it thousands of times is answered once."""
    named: dict[str, Any] = {"resource_type": wanted.resource_type, "resource_name": wanted.resource_name}
    try:
        if (wanted.resource_type, wanted.resource_name) in seen:
            raise Rejected("the request names this resource twice")
        seen.add((wanted.resource_type, wanted.resource_name))
        _RIGHTS.check(request.rights, wanted.resource_type, wanted.resource_name)
        found = _configs(context, wanted, request)
    except HoldfastError as failure:
        return DescribeConfigsResult(error_code=code_of(failure), error_message=str(failure), configs=[], **named)
    keys = None if wanted.configuration_keys is None else set(wanted.configuration_keys)
    hidden: dict[str, object] = {} if message.include_synonyms else {"synonyms": []}
    hidden |= {} if message.include_documentation else {"documentation": None}
    configs = [each.replace(**hidden) for each in found if keys is None or each.name in keys]
    return DescribeConfigsResult(error_code=Code.NONE, error_message=None, configs=configs, **named)


def _configs(
    context: BrokerContext, wanted: DescribeConfigsResource, request: Request
) -> list[DescribeConfigsResourceResult]:
    if wanted.resource_type == Resource.TOPIC:
        return _of_topic(context, context.topics.get(wanted.resource_name).topic.configs)
    if wanted.resource_type == Resource.BROKER:
        if not wanted.resource_name:
            return _of_all_brokers(context)
        check_broker(context, wanted.resource_name)
        return _of_broker(context, request)
    if wanted.resource_type == Resource.GROUP and wanted.resource_name:
        return _of_group(context, wanted.resource_name)
    raise ResourceRefused(wanted.resource_type, wanted.resource_name, "only topics, groups and brokers have any here")


Place: TypeAlias = tuple[str, str | None, ConfigSource]  # Under which name a config has which value, and whose.


def places(context: BrokerContext, config: Config, configs: Mapping[str, str]) -> list[Place]:
    """All places where a topic's config has a value; the first is the one that counts."""
    found: list[Place] = []
    if configs.get(config.name):
        found.append((config.name, configs[config.name], ConfigSource.TOPIC))
    if config.broker_name:
        found += _dynamic(context, config.broker_name)
        static = context.topics.static_defaults.get(config.name)
        if static not in (None, config.default):
            found.append((config.broker_name, str(static), ConfigSource.BROKER))
    return [*found, (config.broker_name or config.name, config.default, ConfigSource.DEFAULT)]


def _dynamic(context: BrokerContext, name: str) -> list[Place]:
    """What was set for this broker, and for all of them, while they ran."""
    own = context.topics.dynamic.of(BROKER, str(context.settings.node_id)).get(name)
    of_all = context.topics.dynamic.of(BROKER, ALL_BROKERS).get(name)
    rows = [(own, ConfigSource.DYNAMIC_BROKER), (of_all, ConfigSource.DYNAMIC_DEFAULT)]
    return [(name, value, source) for value, source in rows if value is not None]


def _of_topic(context: BrokerContext, configs: Mapping[str, str]) -> list[DescribeConfigsResourceResult]:
    return [
        _shown(
            config.name,
            places(context, config, configs),
            config.kind,
            config.effect or "Accepted; changes nothing here.",
        )
        for config in TOPIC_CONFIGS.values()
    ]


def _of_broker(context: BrokerContext, request: Request) -> list[DescribeConfigsResourceResult]:
    shown = broker_configs(context.settings, f"{request.session.listener}://{request.told}")
    return [
        _shown(
            each.name, _of_setting(context, each), each.kind, each.meaning, read_only=each.name not in BROKER_CONFIGS
        )
        for each in shown
    ]


def _of_setting(context: BrokerContext, config: BrokerConfig) -> list[Place]:
    found = _dynamic(context, config.name)
    if config.source is ConfigSource.BROKER:
        found.append((config.name, config.value, ConfigSource.BROKER))
    return [*found, (config.name, config.default, ConfigSource.DEFAULT)]


def _of_all_brokers(context: BrokerContext) -> list[DescribeConfigsResourceResult]:
    """What was set for all of them while they ran."""
    configs = context.topics.dynamic.of(BROKER, ALL_BROKERS)
    return [
        _shown(
            name, [(name, value, ConfigSource.DYNAMIC_DEFAULT)], BROKER_CONFIGS[name].kind, BROKER_CONFIGS[name].effect
        )
        for name, value in sorted(configs.items())
    ]


def _of_group(context: BrokerContext, group_id: str) -> list[DescribeConfigsResourceResult]:
    shown = []
    settings = {each.name: each for each in broker_configs(context.settings, "")}
    for config in group_configs(context.settings).values():
        own = context.topics.dynamic.of(GROUP, group_id).get(config.name)
        found: list[Place] = [] if own is None else [(config.name, own, ConfigSource.GROUP)]
        if config.broker_name in settings:
            found += _of_setting(context, settings[config.broker_name])
        else:
            found.append((config.broker_name or config.name, config.default, ConfigSource.DEFAULT))
        shown.append(_shown(config.name, found, config.kind, config.effect))
    return shown


def _shown(
    name: str, found: list[Place], kind: ConfigKind, meaning: str, *, read_only: bool = False
) -> DescribeConfigsResourceResult:
    _, value, source = found[0]
    return DescribeConfigsResourceResult(
        name=name,
        value=value,
        read_only=read_only,
        config_source=source,
        is_sensitive=kind is ConfigKind.PASSWORD,
        synonyms=[DescribeConfigsSynonym(name=each, value=said, source=whose) for each, said, whose in found],
        config_type=kind,
        documentation=meaning,
    )
