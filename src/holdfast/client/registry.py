"""A schema registry that speaks Confluent's API, asked from a thread: one schema, and those that it needs."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple
from urllib.parse import quote, unquote, urlsplit

from holdfast.client.fetch import fetch
from holdfast.errors import Rejected, Unavailable
from holdfast.record.values.avro import avro_reader
from holdfast.record.values.protobuf import descriptor_file, indexed_reader
from holdfast.security.secret import NONE, Secret

SIZE_MAX: Final = 1 << 20  # Bytes of one answer.
NEEDED_MAX: Final = 50  # Schemas that one needs.
_ACCEPT: Final = "application/vnd.schemaregistry.v1+json, application/json"


class ValueReader(NamedTuple):
    """How values are read, and what they are called then."""

    form: str  # avro, protobuf or json.
    read: Callable[[bytes], Any]


class NotLetIn(Rejected):
    """A registry wants to know who asks, and it is nobody that it knows."""


class Registry:
    """At an address: `http://HOST:PORT`, or with who asks in it, as it travels to executors."""

    def __init__(
        self, url: str, user: str = "", password: Secret = NONE, *, setting: str = "console.schema_registry"
    ) -> None:
        """Raises Rejected for what is no such address; `setting` is the name of what says so."""
        at = urlsplit(url)
        if at.scheme not in ("http", "https") or not at.hostname:
            raise Rejected(f"{setting} must be http://HOST:PORT or https://HOST:PORT")
        self._setting = setting
        self._at = at
        self._user, self._password = user or unquote(at.username or ""), password or Secret(unquote(at.password or ""))
        self.name = f"the schema registry at {at.netloc.rpartition('@')[2]}"

    def reader(self, number: int) -> ValueReader:
        """Of the schema with a number. Raises Unavailable, or Rejected where it is not to be had."""
        found = self._ask(f"/schemas/ids/{number}")
        kind = str(found.get("schemaType", "AVRO"))
        if kind == "JSON":
            return ValueReader("json", json.loads)
        if kind == "AVRO":
            needed = [json.loads(_text(each)) for each in self._needed(found, "")]
            return ValueReader("avro", avro_reader(json.loads(_text(found)), needed))
        if kind == "PROTOBUF":
            form = "?format=serialized"
            main = self._ask(f"/schemas/ids/{number}{form}")
            files = [_file(each, name) for name, each in self._named(main, form)]
            return ValueReader("protobuf", indexed_reader([*files, _file(main, "")]))
        raise Rejected(f"schema {number} is of the type {kind}, which nobody reads here")

    def newest_avro(self, subject: str) -> str:
        """The newest Avro schema of a subject, which must need no others. Raises Unavailable or Rejected."""
        found = self._ask(f"/subjects/{quote(subject, safe='')}/versions/latest")
        kind = str(found.get("schemaType", "AVRO"))
        if kind != "AVRO" or found.get("references"):
            what = f"of the type {kind}" if kind != "AVRO" else "made of several schemas"
            raise Rejected(f"subject {subject} is {what}: give the columns as an Avro schema of their own")
        return _text(found)

    def _needed(self, found: dict[str, Any], form: str) -> Iterator[dict[str, Any]]:
        return (each for _, each in self._named(found, form))

    def _named(self, found: dict[str, Any], form: str) -> list[tuple[str, dict[str, Any]]]:
        """What a schema refers to, each after what it needs itself, by the names it has there."""
        told: dict[str, dict[str, Any]] = {}

        def follow(schema: dict[str, Any], depth: int) -> None:
            for each in schema.get("references") or []:
                name, subject, version = str(each["name"]), quote(str(each["subject"]), safe=""), int(each["version"])
                if name in told:
                    continue
                if len(told) >= NEEDED_MAX or depth >= NEEDED_MAX:
                    raise Rejected(f"it needs more than {NEEDED_MAX} other schemas")
                needed = self._ask(f"/subjects/{subject}/versions/{version}{form}")
                follow(needed, depth + 1)
                told[name] = needed

        follow(found, 0)
        return list(told.items())

    def _ask(self, path: str) -> dict[str, Any]:
        headers = {"Accept": _ACCEPT}
        if self._user:
            said = f"{self._user}:{self._password.reveal()}".encode()
            headers["Authorization"] = "Basic " + base64.b64encode(said).decode()
        return self._checked(path, *fetch(self._at, self._at.path.rstrip("/") + path, headers, SIZE_MAX, self.name))

    def _checked(self, path: str, status: int, body: bytes) -> dict[str, Any]:
        asked = path.partition("?")[0]
        if status == 404:
            raise Rejected(f"{self.name} has no {asked}")
        if status in (401, 403):
            who = f"{self._setting}{'-login' if self._setting.startswith('--') else '_user'}"
            raise NotLetIn(f"{self.name} does not let us see {asked}: {who} says who asks")
        if status != 200:
            raise Unavailable(f"{self.name} answers {status} to {asked}")
        try:
            found = json.loads(body)
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            raise Rejected(f"{self.name} answers {asked} with what is no JSON object")
        return found


def with_login(url: str, login: str) -> str:
    """An address that says who asks, given USER:PASSWORD. It is a secret from here on: nobody prints it."""
    user, separator, password = login.partition(":")
    if not separator or not user:
        raise Rejected("a login is one line, USER:PASSWORD")
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{quote(user, safe='')}:{quote(password, safe='')}@{rest}"


def _text(found: dict[str, Any]) -> str:
    return str(found.get("schema", ""))


def _file(found: dict[str, Any], name: str) -> Any:
    """A descriptor under the name by which others import it."""
    try:
        data = base64.b64decode(_text(found), validate=True)
    except ValueError:
        raise Rejected("the registry gives the Protobuf schema as text only, not as format=serialized") from None
    file = descriptor_file(data)
    if name:
        file.name = name
    return file
