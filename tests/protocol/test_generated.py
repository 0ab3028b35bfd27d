"""The message classes are those of the schemas, cannot be changed, and come without anybody's clients."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from uuid import UUID

import pytest

from holdfast.protocol import classes
from holdfast.protocol.api import APIS, Key
from holdfast.protocol.generated.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponseTopic
from holdfast.protocol.message import Message, fields_of, is_part, part_class
from holdfast.protocol.schemas import generate

HEAVY = ("kafka", "numba", "pyarrow", "obstore", "rich")
GENERATED = "holdfast.protocol.generated."


def run(code: str) -> str:
    """What a fresh Python prints."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_classes_are_current(tmp_path: Path) -> None:
    """K1: the committed classes are what the schemas give, no more and no fewer."""
    generate.generate(tmp_path)
    made = {each.name: each.read_text() for each in tmp_path.glob("*.py")}
    assert made == {each.name: each.read_text() for each in generate.TARGET.glob("*.py")}, (
        f"run {generate.__name__} again"
    )


def test_what_belongs_to_no_api_is_removed(tmp_path: Path) -> None:
    """Otherwise a message that is no longer served would stay for ever."""
    (tmp_path / "gone.py").write_text("")
    generate.generate(tmp_path)
    assert not (tmp_path / "gone.py").exists()


def test_a_broker_loads_nothing_that_it_does_not_need_to_start() -> None:
    loaded = set(run("import sys, holdfast.broker.running, holdfast.cli.serve.command; print(*sys.modules)").split())
    assert f"{GENERATED}heartbeat" in loaded
    assert loaded.isdisjoint(HEAVY)


def test_a_client_loads_the_messages_that_clients_send() -> None:
    loaded = run("import sys, holdfast.client; print(*sys.modules)").split()
    found = {each.removeprefix(GENERATED) for each in loaded if each.startswith(GENERATED)}
    assert {"produce", "init_producer_id", "metadata"} <= found
    assert found.isdisjoint({"alter_client_quotas", "share_fetch"})


def test_a_message_cannot_be_changed() -> None:
    """A field that is set would otherwise be sent to whoever else has the message."""
    topic = MetadataResponseTopic(name="orders")
    with pytest.raises(AttributeError):
        topic.name = "other"  # type: ignore[misc]
    with pytest.raises(AttributeError):
        topic.other = 1  # type: ignore[attr-defined]
    assert topic.replace(name="other").name == "other"
    assert topic.name == "orders"
    with pytest.raises(TypeError, match="no such"):
        topic.replace(such=1)


def test_a_message_says_what_it_is() -> None:
    asked = MetadataRequest(topics=[MetadataRequestTopic(name="orders", topic_id=UUID(int=7))])
    assert "topics=[MetadataRequestTopic(topic_id=UUID('00000000-" in repr(asked)
    assert asked.allow_auto_topic_creation, "the schema's default"
    with pytest.raises(TypeError):
        MetadataRequest(no_such_field=1)  # type: ignore[call-arg]


def parts(of: type[Message]) -> set[type[Message]]:
    own = {part_class(of, each.item_type) for each in fields_of(of) if is_part(each.item_type)}
    return {of}.union(*map(parts, own))


@pytest.mark.parametrize("key", [Key(each) for each in APIS], ids=lambda key: key.name)
def test_values_are_where_their_names_say(key: Key) -> None:
    """K1: each field of each class reads the value that was given under its name."""
    for of in parts(classes.request_class(key)) | parts(classes.response_class(key)):
        values = {each.name: object() for each in fields_of(of)}
        made = of(**values)  # type: ignore[call-arg]
        assert {name: getattr(made, name) for name in values} == values
