"""The log lines of `holdfast serve`, all of them on stderr: one form for people, one for machines.

    text   2026-11-15 23:47:09.123 INFO    holdfast: stopped
    json   {"time":"2026-11-15T23:47:09.123Z","level":"info","logger":"holdfast","message":"stopped", …facts}

A line that has facts of its own carries them in `extra={"facts": {…}}`: as fields of the JSON object, so that no
machine has to take a sentence apart. Neither form ever shows what only the owner of a store may know.
"""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime
from typing import TextIO

from holdfast.cli.serve.redact import redacted

_CONTROLS = {code: f"\\x{code:02x}" for code in (*range(0x20), *range(0x7F, 0xA0))}
_CONTROLS |= {ord("\n"): "\\n", ord("\r"): "\\r", ord("\t"): "\\t"}
_CONTROLS |= {code: f"\\u{code:04x}" for code in (0x2028, 0x2029, *range(0x202A, 0x202F), *range(0x2066, 0x206A))}
_TEXT_MAX = 4096  # Characters of a message that are shown.


def one_line(text: str) -> str:
    """The text as one line of bounded length: nothing in it can end the line, begin another, or steer a terminal."""
    return shortened(text).translate(_CONTROLS)


def shortened(text: str) -> str:
    """The text, or its beginning and how much more there was."""
    left_out = len(text) - _TEXT_MAX
    return text if left_out <= 0 else f"{text[:_TEXT_MAX]}… ({left_out} more characters)"


class TextLines(logging.Formatter):
    """For people."""

    def format(self, record: logging.LogRecord) -> str:
        time = _time_of(record).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]
        line = f"{time} {record.levelname:<7} {record.name}: {one_line(record.getMessage())}"
        if record.exc_info:
            line += "".join(f"\n    {one_line(each)}" for each in self.formatException(record.exc_info).split("\n"))
        return redacted(line)


class JsonLines(logging.Formatter):
    """For machines: one object a line, whatever the message holds."""

    def format(self, record: logging.LogRecord) -> str:
        time = _time_of(record).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"
        body = {"time": time, "level": record.levelname.lower(), "logger": record.name}
        body["message"] = redacted(shortened(record.getMessage()))
        facts = {name: value for name, value in getattr(record, "facts", {}).items() if name not in body}
        body |= {name: redacted(value) if isinstance(value, str) else value for name, value in facts.items()}
        if record.exc_info:
            body["traceback"] = redacted(self.formatException(record.exc_info))
        return json.dumps(body, separators=(",", ":"), ensure_ascii=False, default=str)


def _time_of(record: logging.LogRecord) -> datetime:
    return datetime.fromtimestamp(record.created, UTC)


def begin_lines(level: str, form: str, stream: TextIO | None = None) -> None:
    """From here on everything that Holdfast has to say goes to stderr; of libraries only what is wrong."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonLines() if form == "json" else TextLines())
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    logging.getLogger("holdfast").setLevel(level.upper())
