"""DescribeAcls, CreateAcls, DeleteAcls: the rules that say who may what."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import IntEnum
from typing import Any, TypeVar

from holdfast.broker.codes import code_of
from holdfast.broker.context import BrokerContext
from holdfast.broker.guard.rights import ALTER_CLUSTER
from holdfast.broker.net.request import Request
from holdfast.cluster.auth import add_rule, check_rule, remove_rule
from holdfast.errors import HoldfastError
from holdfast.protocol.codes import Code
from holdfast.protocol.generated.create_acls import (
    AclCreation,
    AclCreationResult,
    CreateAclsRequest,
    CreateAclsResponse,
)
from holdfast.protocol.generated.delete_acls import (
    DeleteAclsFilter,
    DeleteAclsFilterResult,
    DeleteAclsMatchingAcl,
    DeleteAclsRequest,
    DeleteAclsResponse,
)
from holdfast.protocol.generated.describe_acls import (
    AclDescription,
    DescribeAclsRequest,
    DescribeAclsResource,
    DescribeAclsResponse,
)
from holdfast.security.principal import Principal
from holdfast.security.rules import (
    SUPPORTED,
    BadRule,
    Operation,
    PatternType,
    Permission,
    ResourceType,
    Rule,
    RuleFilter,
)

_PATTERNS_FROM = 1  # Before this version all names are literal.
_CREATIONS_MAX = 5_000  # Of one request,
_FILTERS_MAX = 100  # and of those that go through all rules.
_NO_AUTHORIZER: dict[str, Any] = {
    "error_code": Code.SECURITY_DISABLED,
    "error_message": "this broker has no authorizer: set authorizer.class.name",
}
E = TypeVar("E", bound=IntEnum)


async def describe(context: BrokerContext, message: DescribeAclsRequest, request: Request) -> DescribeAclsResponse:
    if not context.gate.is_on:
        return DescribeAclsResponse(resources=[], **_NO_AUTHORIZER)
    try:
        wanted = _filter(message, has_patterns=request.version >= _PATTERNS_FROM)
    except BadRule as failure:
        return DescribeAclsResponse(error_code=code_of(failure), error_message=str(failure), resources=[])
    resources = await context.heavy.run(_resources, wanted, context.users.value.rules)
    return DescribeAclsResponse(error_code=Code.NONE, error_message=None, resources=resources)


def _resources(wanted: RuleFilter, rules: Iterable[Rule]) -> list[DescribeAclsResource]:
    """In a thread, as all that goes through many rules."""
    found: dict[tuple[ResourceType, str, PatternType], list[AclDescription]] = {}
    for rule in _matched(wanted, rules):
        found.setdefault((rule.kind, rule.name, rule.pattern), []).append(_described(rule))
    return [
        DescribeAclsResource(resource_type=kind, resource_name=name, pattern_type=pattern, acls=rows)
        for (kind, name, pattern), rows in found.items()
    ]


def _matched(wanted: RuleFilter, rules: Iterable[Rule]) -> list[Rule]:
    return sorted(rule for rule in rules if wanted.matches(rule))


def _described(rule: Rule) -> AclDescription:
    return AclDescription(
        principal=str(rule.principal), host=rule.host, operation=rule.operation, permission_type=rule.permission
    )


async def create(context: BrokerContext, message: CreateAclsRequest, request: Request) -> CreateAclsResponse:
    """Those that make sense are made together; each of the others is told why not."""
    if not context.gate.is_on:
        refused = [AclCreationResult(**_NO_AUTHORIZER) async for _ in request.pace.through(message.creations)]
        return CreateAclsResponse(results=refused)
    has_patterns = request.version >= _PATTERNS_FROM
    made: list[Rule | HoldfastError] = []
    async for number, each in request.pace.through(enumerate(message.creations)):
        try:
            request.rights.need(ALTER_CLUSTER)
            if number >= _CREATIONS_MAX:
                raise BadRule(f"a request makes {_CREATIONS_MAX} rules at most")
            made.append(_made(each, has_patterns=has_patterns))
        except HoldfastError as failure:
            made.append(failure)
    steps = [add_rule(each) async for each in request.pace.through(made) if isinstance(each, Rule)]
    failed = await _commit(context, steps)
    if failed is None:
        async for rule in request.pace.through(made):
            if isinstance(rule, Rule):
                context.gate.audit.changed(request.session, f"a rule is there: {rule}")
    failures = [each if isinstance(each, HoldfastError) else failed for each in made]
    return CreateAclsResponse(results=[AclCreationResult(**_said(each)) for each in failures])


def _made(wanted: AclCreation, *, has_patterns: bool) -> Rule:
    pattern = wanted.resource_pattern_type if has_patterns else PatternType.LITERAL
    try:
        principal = Principal.parse(wanted.principal)
    except HoldfastError as failure:
        raise BadRule(str(failure)) from None
    rule = Rule(
        _word(ResourceType, wanted.resource_type),
        wanted.resource_name,
        _word(PatternType, pattern),
        principal,
        wanted.host,
        _word(Operation, wanted.operation),
        _word(Permission, wanted.permission_type),
    )
    if rule.operation not in (Operation.ALL, *SUPPORTED[rule.kind]):
        raise BadRule(f"nobody can {rule.operation.name} a {rule.kind.name}")
    check_rule(rule)
    return rule


async def delete(context: BrokerContext, message: DeleteAclsRequest, request: Request) -> DeleteAclsResponse:
    """What the filters match goes together."""
    if not context.gate.is_on:
        through = request.pace.through(message.filters)
        refused = [DeleteAclsFilterResult(matching_acls=[], **_NO_AUTHORIZER) async for _ in through]
        return DeleteAclsResponse(filter_results=refused)
    has_patterns = request.version >= _PATTERNS_FROM
    matched: list[list[Rule] | HoldfastError] = []
    async for number, each in request.pace.through(enumerate(message.filters)):
        try:
            request.rights.need(ALTER_CLUSTER)
            if number >= _FILTERS_MAX:
                raise BadRule(f"a request has {_FILTERS_MAX} filters at most")
            wanted = _filter(each, has_patterns=has_patterns)
            matched.append(await context.heavy.run(_matched, wanted, context.users.value.rules))
        except HoldfastError as failure:
            matched.append(failure)
    gone = [rule for each in matched if isinstance(each, list) for rule in each]
    failed = await _commit(context, await context.heavy.run(_removed, gone))
    if failed is None:
        async for rule in request.pace.through(gone):
            context.gate.audit.changed(request.session, f"a rule is gone: {rule}")
    results = []
    for found in matched:
        said = _said(found if isinstance(found, HoldfastError) else failed)
        left = () if isinstance(found, HoldfastError) else found
        rows = [_matching(rule, failed) async for rule in request.pace.through(left)]
        results.append(DeleteAclsFilterResult(matching_acls=rows, **said))
    return DeleteAclsResponse(filter_results=results)


def _removed(rules: Iterable[Rule]) -> list[list[Any]]:
    return [remove_rule(rule) for rule in set(rules)]


def _matching(rule: Rule, failure: HoldfastError | None) -> DeleteAclsMatchingAcl:
    return DeleteAclsMatchingAcl(
        resource_type=rule.kind,
        resource_name=rule.name,
        pattern_type=rule.pattern,
        principal=str(rule.principal),
        host=rule.host,
        operation=rule.operation,
        permission_type=rule.permission,
        **_said(failure),
    )


def _filter(wanted: DescribeAclsRequest | DeleteAclsFilter, *, has_patterns: bool) -> RuleFilter:
    return RuleFilter(
        _word(ResourceType, wanted.resource_type_filter),
        wanted.resource_name_filter,
        _word(PatternType, wanted.pattern_type_filter if has_patterns else PatternType.LITERAL),
        wanted.principal_filter,
        wanted.host_filter,
        _word(Operation, wanted.operation),
        _word(Permission, wanted.permission_type),
    )


def _word(words: type[E], number: int) -> E:
    try:
        return words(number)
    except ValueError:
        raise BadRule(f"there is no {words.__name__} of number {number}") from None


async def _commit(context: BrokerContext, steps: Sequence[list[Any]]) -> HoldfastError | None:
    """Why it was not done, if it was not."""
    try:
        if steps:
            await context.users.commit(*steps)
    except HoldfastError as failure:
        return failure
    return None


def _said(failure: HoldfastError | None) -> dict[str, Any]:
    if failure is None:
        return {"error_code": Code.NONE, "error_message": None}
    return {"error_code": code_of(failure), "error_message": str(failure)}
