"""One Protobuf value at a time, by descriptors: of a file that `protoc` has written, or of a schema registry."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from holdfast.errors import Rejected

_WELL_KNOWN: Final = ("any", "duration", "empty", "field_mask", "struct", "timestamp", "wrappers")
_INDEXES_MAX: Final = 64  # Messages within messages.


def descriptor_set(data: bytes) -> list[Any]:
    """The files in what `protoc --include_imports --descriptor_set_out` has written. Raises Rejected."""
    from google.protobuf.descriptor_pb2 import FileDescriptorSet

    try:
        found = list(FileDescriptorSet.FromString(data).file)
    except Exception as failure:
        raise Rejected(f"it is no descriptor set of protoc: {failure}") from None
    if not found:
        raise Rejected("it is no descriptor set of protoc: no file is in it")
    return found


def descriptor_file(data: bytes) -> Any:
    """One file's descriptor, as registries give it. Raises Rejected."""
    from google.protobuf.descriptor_pb2 import FileDescriptorProto

    try:
        return FileDescriptorProto.FromString(data)
    except Exception as failure:
        raise Rejected(f"it is no descriptor of a Protobuf file: {failure}") from None


def protobuf_reader(files: Iterable[Any], message: str) -> Callable[[bytes], Any]:
    """Reads values of one message, named with its package. Files come after those that they import. Raises Rejected."""
    return _ProtobufTypes(files).reader(message)


def indexed_reader(files: Sequence[Any]) -> Callable[[bytes], Any]:
    """Reads values of any message of the last file: which one, their own first numbers say. Raises Rejected."""
    types, main = _ProtobufTypes(files), files[-1]

    def read(data: bytes) -> Any:
        indexes, start = split_indexes(data)
        return types.reader(message_at(main, indexes))(data[start:])

    return read


def split_indexes(data: bytes) -> tuple[list[int], int]:
    """Which message of a file, from the outermost on, and where the value begins. One zero byte is the first one."""
    count, at = _zigzag(data, 0)
    if not 0 <= count <= _INDEXES_MAX:
        raise ValueError(f"{count} numbers of messages are none that a registry's client writes")
    found = []
    for _ in range(count):
        number, at = _zigzag(data, at)
        found.append(number)
    return found or [0], at


def _zigzag(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if at >= len(data) or shift > 28:
            raise ValueError("it does not begin with the numbers of its message")
        value |= (data[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if data[at - 1] < 0x80:
            return (value >> 1) ^ -(value & 1), at


def message_at(file: Any, indexes: Sequence[int]) -> str:
    """The name of a file's message."""
    names, within = [file.package] if file.package else [], file.message_type
    for index in indexes:
        if not 0 <= index < len(within):
            raise ValueError(f"{file.name} has no message {list(indexes)}")
        names.append(within[index].name)
        within = within[index].nested_type
    return ".".join(names)


class _ProtobufTypes:
    """The messages of some files."""

    def __init__(self, files: Iterable[Any]) -> None:
        from google.protobuf.descriptor_pool import DescriptorPool

        self._pool: Any = DescriptorPool()
        self._readers: dict[str, Callable[[bytes], Any]] = {}
        given = {each.name: each for each in files}
        for each in _well_known():
            if each.name not in given:
                self._pool.Add(each)
        try:
            for each in given.values():
                self._pool.Add(each)
        except Exception as failure:  # Whatever the library says of what somebody has written.
            raise Rejected(f"its Protobuf files do not fit together: {failure}"[:500]) from None

    def reader(self, message: str) -> Callable[[bytes], Any]:
        if message not in self._readers:
            self._readers[message] = self._reader(message)
        return self._readers[message]

    def _reader(self, message: str) -> Callable[[bytes], Any]:
        from google.protobuf.json_format import MessageToDict
        from google.protobuf.message_factory import GetMessageClass

        try:
            kind: Any = GetMessageClass(self._pool.FindMessageTypeByName(message))
        except Exception as failure:  # As above: a file may be wrong in ways that are seen only here.
            raise Rejected(f"there is no Protobuf message {message}: {failure}"[:500]) from None

        def read(data: bytes) -> Any:
            return MessageToDict(kind.FromString(data), preserving_proto_field_name=True, descriptor_pool=self._pool)

        return read


def _well_known() -> Iterable[Any]:
    """What files import that nobody writes himself."""
    from importlib import import_module

    from google.protobuf.descriptor_pb2 import FileDescriptorProto

    for name in _WELL_KNOWN:
        module = import_module(f"google.protobuf.{name}_pb2")
        yield FileDescriptorProto.FromString(module.DESCRIPTOR.serialized_pb)
