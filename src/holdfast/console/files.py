"""The browser's side: what is in `static`, under names that change with it, so that browsers may keep it for ever."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import Final

from holdfast.console.link import HttpAnswer

STATIC: Final = Path(__file__).parent / "static"
_TYPES = {
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".md": "text/plain; charset=utf-8",
}
_FOR_EVER = (("Cache-Control", "public, max-age=31536000, immutable"),)
_SHELL = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Holdfast</title>
<link rel="icon" href="/static/{tag}/mark.svg" type="image/svg+xml">
<link rel="stylesheet" href="/static/{tag}/style.css">
<script type="module" src="/static/{tag}/app.js"></script>
</head>
<body><div id="app"></div><noscript>The console draws its pages in the browser: it needs scripts. The same is there as
JSON: ask with <code>Accept: application/json</code>.</noscript></body>
</html>
"""


class Files:
    """All of them, read once."""

    def __init__(self) -> None:
        found = sorted(each for each in STATIC.rglob("*") if each.suffix in _TYPES)
        self._files = {each.relative_to(STATIC).as_posix(): each.read_bytes() for each in found}
        whole = sha256(b"".join(name.encode() + data for name, data in self._files.items()))
        self._tag = whole.hexdigest()[:12]
        self.shell = _SHELL.format(tag=self._tag).encode()

    def answer(self, path: str) -> HttpAnswer:
        """The file of a path below /static/. One of another release is gone."""
        tag, _, name = path.removeprefix("/static/").partition("/")
        data = self._files.get(name)
        if tag != self._tag or data is None:
            return HttpAnswer(404, "text/plain; charset=utf-8", b"there is no such file: load the page again\n")
        return HttpAnswer(200, _TYPES["." + name.rpartition(".")[2]], data, _FOR_EVER)
