"""Values decoded by their schemas: those of files by topic, those of a registry by the number that a value begins with.

What a number means is asked once, and kept; a registry that does not answer is left alone for a while. Threads decode
with what is known; what is not is asked for between two looks.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime, time
from pathlib import Path
from typing import Any, Final, NamedTuple

from holdfast.client.registry import Registry, ValueReader
from holdfast.errors import HoldfastError, Rejected, Unavailable
from holdfast.extras import advice
from holdfast.io.calls import BlockingCalls
from holdfast.io.clock import Clock
from holdfast.record.values.avro import avro_reader
from holdfast.record.values.prefix import split_prefix
from holdfast.record.values.protobuf import descriptor_set, protobuf_reader

KNOWN_MAX: Final = 500  # Schemas of the registry; then the oldest go.
ASKED_MAX: Final = 16  # Schemas that are asked for in one look.
DECODED_SIZE_MAX: Final = 256 << 10  # Bytes of a value.
AGAIN_S: Final = 10.0  # Then a schema that was not to be had is asked for again.


class DecodedValue(NamedTuple):
    """A value by its schema, or why not."""

    value: Any
    form: str
    why: str = ""

    @property
    def text(self) -> str:
        return json.dumps(self.value, ensure_ascii=False, default=said)


def said(value: Any) -> str:
    if isinstance(value, bytes):
        return value.hex()
    return value.isoformat() if isinstance(value, (datetime, date, time)) else str(value)


class _NotToBeHad(NamedTuple):
    """A schema that we do not have."""

    why: str
    until: float


class TopicValues:
    """The values of one topic in one look, in a thread. It remembers which schemas it misses."""

    def __init__(self, schemas: Schemas, topic: str) -> None:
        self._schemas = schemas
        self._file = schemas.files.get(topic)
        self.missing: set[int] = set()

    def decoded(self, data: bytes | None, *, is_key: bool = False) -> DecodedValue | None:
        """None: it has no schema, or none that is known yet."""
        if not data:
            return None
        if self._file is not None and not is_key:
            return _attempt(self._file, data)
        found = split_prefix(data) if self._schemas.registry is not None else None
        if found is None:
            return None
        known = self._schemas.known.get(found[0])
        if isinstance(known, ValueReader):
            return _attempt(known, found[1])
        if known is None and len(self.missing) < ASKED_MAX:
            self.missing.add(found[0])
        return DecodedValue(None, "", known.why if known else f"{ASKED_MAX} other schemas were asked for first")


def _attempt(reader: ValueReader, data: bytes) -> DecodedValue:
    if len(data) > DECODED_SIZE_MAX:
        return DecodedValue(None, "", f"it is longer than {DECODED_SIZE_MAX >> 10} KiB, and not decoded")
    try:
        return DecodedValue(reader.read(data), reader.form)
    except Exception as failure:  # Whatever a decoder says of bytes that anybody may have sent.
        said = str(failure) or type(failure).__name__
        return DecodedValue(None, "", f"it is not what its {reader.form} schema says: {said}"[:300])


class Schemas:
    """Belongs to one event loop; threads only look at what is known."""

    def __init__(
        self, registry: Registry | None, files: Mapping[str, ValueReader], calls: BlockingCalls, clock: Clock
    ) -> None:
        self.registry = registry
        self.files = files
        self.known: dict[int, ValueReader | _NotToBeHad] = {}
        self._calls = calls
        self._now = clock.monotonic
        self._away: _NotToBeHad | None = None

    async def look(self, calls: BlockingCalls, topic: str, call: Callable[..., Any], *asked: Any) -> Any:
        """Make a call with the values of a topic, in a thread; once more if it has missed schemas that are there."""
        self._forget()
        values = TopicValues(self, topic)
        found = await calls.local(call, *asked, values)
        if not values.missing:
            return found
        await self._learn(values.missing)
        return await calls.local(call, *asked, TopicValues(self, topic))

    async def _learn(self, numbers: Iterable[int]) -> None:
        """Ask for schemas; afterwards each is known, or why it is not."""
        for number in sorted(numbers):
            if self._away is None or self._away.until < self._now():
                self._away = None
                found = await self._calls.run(self._ask, number)
            else:
                found = self._away
            while len(self.known) >= KNOWN_MAX:
                del self.known[next(iter(self.known))]
            self.known[number] = found

    def _forget(self) -> None:
        """What was not to be had a while ago is asked for again."""
        now = self._now()
        for number, each in list(self.known.items()):
            if isinstance(each, _NotToBeHad) and each.until < now:
                del self.known[number]

    def _ask(self, number: int) -> ValueReader | _NotToBeHad:
        assert self.registry is not None
        until = self._now() + AGAIN_S
        try:
            return self.registry.reader(number)
        except ModuleNotFoundError as failure:
            return _NotToBeHad(advice(failure) or str(failure), until)
        except Unavailable as failure:
            self._away = _NotToBeHad(str(failure), until)
            return self._away
        except HoldfastError as failure:
            return _NotToBeHad(f"schema {number}: {failure}", until)
        except Exception as failure:  # It has said something that is no schema.
            return _NotToBeHad(f"schema {number} cannot be used: {type(failure).__name__}: {failure}"[:300], until)


def read_schema_file(topic: str, told: str) -> ValueReader:
    """Raises Rejected. `FILE.avsc`, or a descriptor set of Protobuf and a message: `FILE:package.Message`."""
    name, _, message = told.rpartition(":") if not told.endswith((".avsc", ".json")) else (told, "", "")
    try:
        data = Path(name or told).read_bytes()
        if message and name:
            return ValueReader("protobuf", protobuf_reader(descriptor_set(data), message))
        return ValueReader("avro", avro_reader(json.loads(data)))
    except ModuleNotFoundError as failure:
        raise Rejected(f"console.schema_files needs more for {topic}: {advice(failure) or failure}") from None
    except (OSError, ValueError, RecursionError, HoldfastError) as failure:
        said = getattr(failure, "strerror", None) or failure
        raise Rejected(f"console.schema_files: {told} of {topic} cannot be used: {said}") from None
