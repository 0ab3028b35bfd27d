"""Answers that refuse a request as a whole."""

from __future__ import annotations

from typing import Any

from holdfast.broker.codes import code_of
from holdfast.broker.rights import NotAllowed, Right
from holdfast.protocol.api import Key
from holdfast.protocol.classes import response_class
from holdfast.protocol.message import Message, fields_of
from holdfast.security.rules import CLUSTER_NAME


def refused(key: Key, version: int, right: Right) -> Message:
    """To whoever has not the right to the cluster. In versions that cannot say why, nothing is told."""
    made: Any = response_class(key)
    failure = NotAllowed(right, CLUSTER_NAME)
    said = {"error_code": code_of(failure), "error_message": str(failure)}
    known = {each.name for each in fields_of(made) if each.is_in(version)}
    answer: Message = made(**{name: value for name, value in said.items() if name in known})
    return answer
