"""Rules that say who may what (ACLs), through a broker."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from holdfast.client.codes import check
from holdfast.protocol.api import Key
from holdfast.protocol.generated.create_acls import AclCreation, CreateAclsRequest
from holdfast.protocol.generated.delete_acls import DeleteAclsFilter, DeleteAclsMatchingAcl, DeleteAclsRequest
from holdfast.protocol.generated.describe_acls import AclDescription, DescribeAclsRequest, DescribeAclsResource
from holdfast.security.principal import Principal
from holdfast.security.rules import Operation, PatternType, Permission, ResourceType, Rule, RuleFilter

if TYPE_CHECKING:
    from holdfast.client.nodes import Nodes


def list_rules(nodes: Nodes, wanted: RuleFilter) -> list[Rule]:
    """Those that a filter matches."""
    asked = DescribeAclsRequest(
        resource_type_filter=wanted.kind,
        resource_name_filter=wanted.name,
        pattern_type_filter=wanted.pattern,
        principal_filter=wanted.principal,
        host_filter=wanted.host,
        operation=wanted.operation,
        permission_type=wanted.permission,
    )
    answer = nodes.any().ask(Key.DESCRIBE_ACLS, asked)
    check("the rules", answer.error_code, answer.error_message)
    return sorted(_rule(each, row) for each in answer.resources for row in each.acls)


def add_rules(nodes: Nodes, rules: Sequence[Rule]) -> None:
    """Make them. A repeat is harmless."""
    made = [
        AclCreation(
            resource_type=rule.kind,
            resource_name=rule.name,
            resource_pattern_type=rule.pattern,
            principal=str(rule.principal),
            host=rule.host,
            operation=rule.operation,
            permission_type=rule.permission,
        )
        for rule in rules
    ]
    answer = nodes.controller().ask(Key.CREATE_ACLS, CreateAclsRequest(creations=made))
    for rule, result in zip(rules, answer.results, strict=True):
        check(f"the rule {rule}", result.error_code, result.error_message)


def remove_rules(nodes: Nodes, filters: Sequence[RuleFilter]) -> list[Rule]:
    """What the filters match; the rules that are gone now."""
    asked = [
        DeleteAclsFilter(
            resource_type_filter=each.kind,
            resource_name_filter=each.name,
            pattern_type_filter=each.pattern,
            principal_filter=each.principal,
            host_filter=each.host,
            operation=each.operation,
            permission_type=each.permission,
        )
        for each in filters
    ]
    gone = set()
    for result in nodes.controller().ask(Key.DELETE_ACLS, DeleteAclsRequest(filters=asked)).filter_results:
        check("the rules", result.error_code, result.error_message)
        for each in result.matching_acls:
            check("a rule", each.error_code, each.error_message)
            gone.add(_rule(each, each))
    return sorted(gone)


def _rule(resource: DescribeAclsResource | DeleteAclsMatchingAcl, row: AclDescription | DeleteAclsMatchingAcl) -> Rule:
    return Rule(
        ResourceType(resource.resource_type),
        resource.resource_name,
        PatternType(resource.pattern_type),
        Principal.parse(row.principal),
        row.host,
        Operation(row.operation),
        Permission(row.permission_type),
    )
