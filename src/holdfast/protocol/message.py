"""What a message is: a tuple of its fields' values, each under its name, that nobody can change.

The classes are in `generated`, one module for each API, made from Kafka's schemas by `schemas.generate`. A class has a
row for each field: its name, its type, the versions that have it, those where it may be null, and its tag. `decoder`
and `encoder` make their functions from these rows. What is not given, and what a version does not have, has the
schema's default. A uuid of zeros is None.

To the type checker a message is no tuple: whoever takes its length or goes through it has made a mistake.
"""

from __future__ import annotations

import sys
from collections import namedtuple
from collections.abc import Callable, Iterator
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, Self, TypeAlias, TypeVar, cast

NEVER = 1 << 15  # Larger than any version.

Versions: TypeAlias = tuple[int, int]  # The first and the last, which is included, as on the wire.
Row: TypeAlias = tuple[str, str, Versions, Versions | None, int | None]
M = TypeVar("M")
F = TypeVar("F", bound=Callable[..., Any])
R_co = TypeVar("R_co", covariant=True)

if TYPE_CHECKING:

    class _Values: ...
else:
    _Values = tuple

_FIELDS_MAX = 40
_places = namedtuple("_places", [f"at_{number}" for number in range(_FIELDS_MAX)])  # type: ignore[misc]

new: Callable[[type[M], tuple[object, ...]], M] = tuple.__new__  # type: ignore[assignment]  # Of all values, in order.


def cached(function: F) -> F:
    """`functools.cache`, which keeps the types: to the type checker a class is not hashable."""
    return cast("F", cache(function))


def field(number: int) -> Any:
    """A field's place in the tuple: read in C, as in a named tuple, and never set."""
    return _places.__dict__[f"at_{number}"]


class Message(_Values):
    """A request, a response, or a part of one."""

    __slots__ = ()
    ROWS: ClassVar[tuple[Row, ...]] = ()
    FLEXIBLE_FROM: ClassVar[int] = NEVER  # Of requests and responses; their parts are as they are.

    def replace(self, **values: object) -> Self:
        """The same with other values for some fields."""
        names = [row[0] for row in self.ROWS]
        if not values.keys() <= set(names):
            raise TypeError(f"{type(self).__name__} has no {', '.join(values.keys() - set(names))}")
        return new(type(self), tuple(values.get(name, getattr(self, name)) for name in names))

    def __repr__(self) -> str:
        values = ", ".join(f"{row[0]}={getattr(self, row[0])!r}" for row in self.ROWS)
        return f"{type(self).__name__}({values})"


class RequestMessage(Message, Generic[R_co]):
    """A request: the type checker knows what it is answered with."""

    __slots__ = ()


class Field(NamedTuple):
    """A row, and where its value is in the tuple."""

    place: int
    name: str
    type: str
    versions: Versions
    nullable: Versions | None
    tag: int | None
    default: Any

    @property
    def is_array(self) -> bool:
        return self.type.startswith("[]")

    @property
    def item_type(self) -> str:
        return self.type.removeprefix("[]")

    def may_be_null(self, version: int) -> bool:
        return self.nullable is not None and self.nullable[0] <= version <= self.nullable[1]

    def is_in(self, version: int) -> bool:
        return self.versions[0] <= version <= self.versions[1]


@cached
def fields_of(message_class: type[Message]) -> tuple[Field, ...]:
    """All fields of a class, in the order of their values."""
    defaults = message_class.__new__.__kwdefaults__ or {}
    return tuple(Field(place, *row, default=defaults.get(row[0])) for place, row in enumerate(message_class.ROWS))


def part_class(message_class: type[Message], name: str) -> type[Message]:
    """The class of a field's value, by the name that its type has in the rows: it is in the same module."""
    found: type[Message] = getattr(sys.modules[message_class.__module__], name)
    return found


def lists_of(message: Message) -> Iterator[list[Any]]:
    """The lists that a message has right inside it."""
    values: Any = message
    return (each for each in values if isinstance(each, list))


def is_part(type_name: str) -> bool:
    """Whether it is the name of a class."""
    return type_name[0].isupper()
