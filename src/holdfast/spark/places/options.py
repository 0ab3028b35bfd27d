"""The options by which a read is one of a table: where its archive is, and how values become columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from holdfast.errors import Rejected

ARCHIVE: Final = "archive"
AUTO: Final = "auto"  # Wherever the topic's own configs say that its table is.
STORE_PREFIX: Final = "archive.store."
CATALOG_PREFIX: Final = "archive.catalog."
PREFIXES: Final = (STORE_PREFIX, CATALOG_PREFIX)
DECODE: Final = "decode"
DECODE_SCHEMA: Final = "decodeSchema"
DECODE_REGISTRY: Final = "decodeRegistry"
DECODE_KEEP: Final = "decodeKeepValue"
DECODE_NAMES: Final = "decodeNames"
NAMES: Final = (ARCHIVE, DECODE, DECODE_SCHEMA, DECODE_REGISTRY, DECODE_KEEP, DECODE_NAMES)
KINDS: Final = ("json", "avro", "avro-registry", "registry")


@dataclass(frozen=True)
class TableOptions:
    """What was said of the table."""

    archive: str | None = None
    store: Mapping[str, str] = field(default_factory=dict, repr=False)  # May hold credentials.
    catalog: Mapping[str, str] = field(default_factory=dict, repr=False)
    decode: str | None = None
    schema: str | None = None  # An Avro schema, or the path of a file with it.
    registry: str = ""
    keep_value: bool = False
    names: str = ""  # JSON: fields whose column has another name.


def is_table(given: Mapping[str, str]) -> bool:
    """Whether options, with names in any case, ask for a table."""
    known = {name.lower() for name in NAMES}
    return any(name.lower() in known or name.lower().startswith(PREFIXES) for name in given)


def parse_table(given: Mapping[str, str]) -> TableOptions | None:
    """The options of a table; None where there is none of them. Those of the source have been checked before."""
    options = {name.lower(): text for name, text in given.items()}
    if not is_table(options):
        return None
    named = {name: options[name.lower()] for name in NAMES if name.lower() in options}
    decode, schema, registry = (named.get(name) for name in (DECODE, DECODE_SCHEMA, DECODE_REGISTRY))
    if decode is not None and decode not in KINDS:
        raise Rejected(f"{DECODE} is {decode!r}, but it must be one of {', '.join(KINDS)}")
    if (decode is None) != (schema is None):
        raise Rejected(f"{DECODE} and {DECODE_SCHEMA} belong together: give both")
    if decode == "registry" and not registry:
        raise Rejected(f"{DECODE} registry needs {DECODE_REGISTRY}: the address of the registry")
    if ARCHIVE not in named and any(name.startswith(PREFIXES) for name in options):
        raise Rejected(f"options of an archive are given, and no {ARCHIVE}: say where it is")
    keep = named.get(DECODE_KEEP, "false").lower()
    if keep not in ("true", "false"):
        raise Rejected(f"{DECODE_KEEP} is {keep!r}, but it must be true or false")
    return TableOptions(
        archive=named.get(ARCHIVE),
        store=_below(options, STORE_PREFIX),
        catalog=_below(options, CATALOG_PREFIX),
        decode=decode,
        schema=schema,
        registry=registry or "",
        keep_value=keep == "true",
        names=named.get(DECODE_NAMES, ""),
    )


def _below(options: Mapping[str, str], prefix: str) -> dict[str, str]:
    return {name.removeprefix(prefix): text for name, text in options.items() if name.startswith(prefix)}
