"""What a member of a consumer group says it reads. The only look into metadata, and only at its beginning.

| version i16 | topic count i32 | topic string | … |     what follows differs by version and is of no interest here.
"""

from __future__ import annotations

from holdfast.coordinator.runtime.fields import MalformedField, Reader

CONSUMER = "consumer"  # The protocol type whose metadata has this form.


def topics_of(metadata: bytes) -> frozenset[str] | None:
    """The topics, or None where the metadata has another form."""
    reader = Reader(metadata)
    try:
        if reader.i16() < 0:
            return None
        return frozenset(reader.string() for _ in range(reader.count()))
    except (MalformedField, UnicodeDecodeError):
        return None
