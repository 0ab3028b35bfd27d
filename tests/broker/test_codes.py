"""Every failure has a code, and none of them says that all is well."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from holdfast import errors
from holdfast.broker.codes import code_of, group_code_of
from holdfast.coordinator.group import errors as group_errors
from holdfast.coordinator.group.consumer import errors as consumer_group_errors
from holdfast.coordinator.runtime import errors as runtime_errors
from holdfast.protocol.codes import Code

ROOT = Path(__file__).parents[2]


def subclasses(of: type[Exception]) -> list[type[Exception]]:
    found = [of]
    for each in of.__subclasses__():
        found += subclasses(each)
    return found


def bare(error: type[Exception]) -> Exception:
    """An error of a class, without its facts: the code depends on the class alone."""
    return error.__new__(error)


@pytest.mark.parametrize("error", subclasses(errors.HoldfastError), ids=lambda each: each.__qualname__)
def test_no_failure_is_answered_with_code_0(error: type[Exception]) -> None:
    """K1: a failed request is never taken for a success."""
    assert code_of(bare(error)) is not Code.NONE
    assert group_code_of(bare(error)) is not Code.NONE


def test_a_failure_nobody_knows_is_a_failure() -> None:
    """K1: UNKNOWN_SERVER_ERROR."""
    assert code_of(ValueError()) is Code.UNKNOWN_SERVER_ERROR


def test_every_error_of_groups_has_a_code_of_its_own() -> None:
    """K3: members act on them."""
    own = [
        each
        for module in (group_errors, consumer_group_errors)
        for each in vars(module).values()
        if isinstance(each, type) and each.__module__ == module.__name__
    ]
    plain = (runtime_errors.TextTooLong, consumer_group_errors.InvalidHeartbeat)  # The request itself is wrong.
    kinds = (consumer_group_errors.NotAClassicGroup, consumer_group_errors.NotAConsumerGroup)  # Of GroupNotFound.
    rejected = [each for each in own if issubclass(each, errors.Rejected) and each not in (*plain, *kinds)]
    codes = [code_of(bare(each)) for each in rejected]
    assert Code.INVALID_REQUEST not in codes
    assert len(set(codes)) == len(codes)


def test_lost_storage_is_a_lost_coordinator_to_groups() -> None:
    """K3: clients of groups know nothing of storage."""
    assert group_code_of(errors.Stopped()) is Code.COORDINATOR_NOT_AVAILABLE
    assert group_code_of(errors.Corrupt()) is Code.COORDINATOR_NOT_AVAILABLE


def test_the_page_of_apis_says_what_the_tables_say() -> None:
    """K1: docs/reference/kafka-apis.md is made from them."""
    tool = ROOT / "docs" / "tools" / "kafka_apis.py"
    done = subprocess.run([sys.executable, tool, "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
