"""Make the message classes again: `python -m holdfast.protocol.schemas.generate`.

The schemas are Kafka's, as kafka-python has them, and those of this folder for what it has not. Needs kafka-python.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from holdfast.protocol.api import APIS, NEVER, Api
from holdfast.protocol.message import Versions

HERE = Path(__file__).parent
TARGET = HERE.parent / "generated"
_TYPES = {
    "string": "str",
    "bytes": "bytes",
    "records": "bytes",
    "bool": "bool",
    "float64": "float",
    "uuid": "UUID | None",
}
_TYPES |= dict.fromkeys(("int8", "int16", "uint16", "int32", "int64"), "int")
_HEAD = '''"""{name}, versions {first} to {last}. Made by `holdfast.protocol.schemas.generate`: edit nothing here."""

from __future__ import annotations

'''
_PACKAGE = '"""The message classes, a module for each API. Made by `holdfast.protocol.schemas.generate`."""\n'


def generate(target: Path) -> None:
    """Write a module for each API into a folder, and remove what belongs to no API."""
    target.mkdir(exist_ok=True)
    made = {"__init__.py": _PACKAGE} | {f"{api.key.name.lower()}.py": _module(api) for api in APIS.values()}
    for old in target.glob("*.py"):
        if old.name not in made:
            old.unlink()
    for name, text in made.items():
        (target / name).write_text(text)


class _Struct(NamedTuple):
    name: str
    fields: tuple[_Field, ...]
    flexible_from: int | None  # Of requests and responses only.
    response: str | None = None  # Of requests only.


class _Field(NamedTuple):
    name: str
    type: str
    versions: Versions
    nullable: Versions | None
    tag: int | None
    hint: str
    default: str | None  # As it is written in Python; None where a value must be given.


def _module(api: Api) -> str:
    schemas = {kind: load(f"{api.name}{kind}") for kind in ("Response", "Request")}
    text = "\n\n".join(_class(each) for each in _structs(api, schemas))
    head = _HEAD.format(name=api.name, first=api.min_version, last=api.max_version)
    if "Sequence[" in text:
        head += "from collections.abc import Sequence\n"
    if "Final[" in text:
        head += "from typing import Final\n"
    if "UUID" in text:
        head += "from uuid import UUID\n"
    return f"{head}\nfrom holdfast.protocol.message import Message, RequestMessage, field, new\n\n\n{text}"


def load(name: str) -> dict[str, Any]:
    """A schema, without its comments."""
    ours = HERE / f"{name}.json"
    path = ours if ours.exists() else files("kafka.protocol.schemas.resources") / f"{name}.json"
    found: dict[str, Any] = json.loads(re.sub(r"(?m)^\s*//.*$", "", path.read_text()))
    return found


def _structs(api: Api, schemas: dict[str, dict[str, Any]]) -> list[_Struct]:
    """The classes of a module, parts before what they are part of, and the response before the request."""
    parts = {kind: dict(_parts(schema)) for kind, schema in schemas.items()}
    in_both = parts["Request"].keys() & parts["Response"].keys()
    made: list[_Struct] = []
    for kind, schema in schemas.items():
        names = {each: f"{kind}{each}" if each in in_both else each for each in parts[kind]}
        made += [_Struct(names[name], _fields(api, fields, names), None) for name, fields in parts[kind].items()]
        flexible = versions(schema["flexibleVersions"])
        fields = _fields(api, schema["fields"], names)
        response = f"{api.name}Response" if kind == "Request" else None
        made.append(_Struct(schema["name"], fields, flexible[0] if flexible else NEVER, response))
    return made


def _parts(schema: dict[str, Any]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    common = {each["name"]: each["fields"] for each in schema.get("commonStructs", [])}

    def inside(fields: list[dict[str, Any]]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
        for each in fields:
            name = each["type"].removeprefix("[]")
            if name[0].isupper():
                own = each.get("fields") or common[name]
                yield from inside(own)
                yield name, own

    return inside(schema["fields"])


def _fields(api: Api, fields: list[dict[str, Any]], names: dict[str, str]) -> tuple[_Field, ...]:
    served = (api.min_version, api.max_version)
    return tuple(
        _field(served, each, names) for each in fields if _common(served, versions(each["versions"])) is not None
    )


def _field(served: Versions, schema: dict[str, Any], names: dict[str, str]) -> _Field:
    present = _common(served, versions(schema["versions"]))
    assert present is not None
    tagged = versions(schema.get("taggedVersions"))
    assert tagged is None or _common(served, tagged) == present, "a field is tagged in all of its versions or in none"
    nullable = _common(present, versions(schema.get("nullableVersions")))
    array, name = ("[]" if schema["type"].startswith("[]") else ""), schema["type"].removeprefix("[]")
    is_part = name[0].isupper()
    name = names.get(name, name)
    hint = name if is_part else _TYPES[name]
    default: str | None
    if array:
        hint, default = f"Sequence[{hint}]", "()"
    elif is_part:
        default = "None" if tagged or present != served else None
    else:
        default = _default(name, schema.get("default", ""))
    if schema.get("default") == "null":
        default = "None"
    if (nullable or default == "None") and not hint.endswith("None"):
        hint += " | None"
    return _Field(_snake(schema["name"]), array + name, present, nullable, schema.get("tag"), hint, default)


def _default(kind: str, text: Any) -> str:
    if kind == "uuid":
        return "None"
    if kind == "string":
        return json.dumps(text)
    if kind in ("bytes", "records"):
        return 'b""'
    if kind == "bool":
        return str(str(text).lower() == "true")
    if kind == "float64":
        return repr(float(text or 0))
    return str(int(str(text or 0), 0))


def _class(struct: _Struct) -> str:
    base = "Message" if struct.response is None else f"RequestMessage[{struct.response}]"
    lines = [f"class {struct.name}({base}):", "    __slots__ = ()"]
    if struct.flexible_from is not None:
        lines.append(f"    FLEXIBLE_FROM = {struct.flexible_from}")
    if struct.fields:
        rows = [f"        {tuple(each[:5])!r}," for each in struct.fields]
        lines += ["    ROWS = (", *(each.replace("'", '"') for each in rows), "    )"]
        lines += [f"    {each.name}: Final[{each.hint}] = field({place})" for place, each in enumerate(struct.fields)]
    return "\n".join([*lines, "", *_new(struct), ""])


def _new(struct: _Struct) -> list[str]:
    if not struct.fields:
        return [f"    def __new__(cls) -> {struct.name}:", "        return new(cls, ())"]
    given = [
        f"        {each.name}: {each.hint}{'' if each.default is None else f' = {each.default}'},"
        for each in struct.fields
    ]
    values = "".join(f"{each.name}, " for each in struct.fields)
    return [
        "    def __new__(",
        "        cls,",
        "        *,",
        *given,
        f"    ) -> {struct.name}:",
        f"        return new(cls, ({values.strip() if len(struct.fields) == 1 else values.strip(', ')}))",
    ]


def _snake(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


def versions(text: str | None) -> Versions | None:
    """As schemas write them: "3", "3-5", "3+", "none"."""
    if text is None or text == "none":
        return None
    first, _, last = text.removesuffix("+").partition("-")
    return int(first), NEVER if text.endswith("+") else int(last or first)


def _common(one: Versions, other: Versions | None) -> Versions | None:
    if other is None or max(one[0], other[0]) > min(one[1], other[1]):
        return None
    return max(one[0], other[0]), min(one[1], other[1])


if __name__ == "__main__":
    generate(TARGET)
