"""Keys, filters, and which keys pass which filter."""

from __future__ import annotations

from holdfast.subscribe.filter import Filter

KEYS: list[bytes | None] = [
    b"/",
    b"/foo",
    b"/foo/",
    b"/foo/a",
    b"/foo/a/b",
    b"/foobar",
    b"/foobar/a",
    b"/bar/a",
    b"/.system/log/2026/01",
    b"/.system/log/",
    b"/.system/log",
    b"/.system/logs",
    b"plain",
    b"",
    "/föö/ß".encode(),
    b"/\xff\x00",
    None,
]
INTERNAL = {b"/.system/log/2026/01", b"/.system/log/"}
ALL = set(KEYS) - INTERNAL
PATHS = {key for key in ALL if key is not None and key.startswith(b"/")}

CASES: list[tuple[Filter, set[bytes | None]]] = [
    (Filter(), ALL),
    (Filter.of("/"), PATHS),
    (Filter.of("/foo"), {b"/foo", b"/foo/", b"/foo/a", b"/foo/a/b"}),
    (Filter.of("/foo/"), {b"/foo/", b"/foo/a", b"/foo/a/b"}),
    (Filter.of("/foo/a"), {b"/foo/a", b"/foo/a/b"}),
    (Filter(plain=("/foo",)), {b"/foo", b"/foo/", b"/foo/a", b"/foo/a/b", b"/foobar", b"/foobar/a"}),
    (Filter(plain=("pl",)), {b"plain"}),
    (Filter.of(["/foo/a", "/bar"]), {b"/foo/a", b"/foo/a/b", b"/bar/a"}),
    (Filter(directories=("/foo",)), {b"/foo/a"}),
    (Filter(directories=("/foo/",)), {b"/foo/a"}),
    (Filter(directories=("/",)), {b"/foo", b"/foobar", b"/\xff\x00"}),
    (Filter(paths=("/bar",), directories=("/foo/a",)), {b"/bar/a", b"/foo/a/b"}),
    (Filter.of("/.system"), {b"/.system/log", b"/.system/logs"}),
    (Filter(plain=("/.system/log",)), {b"/.system/log", b"/.system/logs"}),
    (Filter(directories=("/.system",)), {b"/.system/log", b"/.system/logs"}),
    (Filter.of("/föö"), {"/föö/ß".encode()}),
    (Filter.of("/nothing"), set()),
]
