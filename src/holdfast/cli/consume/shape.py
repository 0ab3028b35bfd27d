"""What of a record is printed: all of it, or its key, its value, or what stands at a path in its JSON value."""

from __future__ import annotations

import json
import re
import sys
from typing import Any, Final, NamedTuple

from holdfast.cli.consume.lines import record_facts, record_line
from holdfast.cli.terminal.talk import give_json
from holdfast.errors import Rejected
from holdfast.record.records import Record

_STEP = re.compile(r"\.?([^.\[\]]+)|\[(\d+)\]")
NOTHING: Final = object()


class RecordShape(NamedTuple):
    """How one run prints records."""

    as_json: bool = False
    keys: bool = False
    values: bool = False
    path: str = ""

    def check(self) -> None:
        if self.as_json and (self.keys or self.values or self.path):
            raise Rejected(
                "--keys, --values and --json-path print what they name, and --json everything: which of them?"
            )
        if self.path and (self.keys or self.values):
            raise Rejected("--json-path is for what stands in the value: without --keys and --values")
        if self.path and "".join(each[0] for each in _STEP.finditer(self._steps)) != self._steps:
            raise Rejected(f"--json-path {self.path} is no path: write customer.id or items[0].name")

    @property
    def _steps(self) -> str:
        return self.path.removeprefix("$").removeprefix(".")

    def give(self, topic: str, partition: int, record: Record) -> bool:
        """Print it; whether there was something to print."""
        if self.path:
            found = _at(record.value or b"", self._steps)
            if found is not NOTHING:
                print(found if isinstance(found, str) else json.dumps(found, ensure_ascii=False))
            return found is not NOTHING
        if self.keys or self.values:
            wanted = [*([record.key] if self.keys else []), *([record.value] if self.values else [])]
            sys.stdout.flush()
            sys.stdout.buffer.write(b"\t".join(each or b"" for each in wanted) + b"\n")
        elif self.as_json:
            give_json(record_facts(topic, partition, record))
        else:
            print(record_line(topic, partition, record))
        return True


def _at(value: bytes, steps: str) -> Any:
    try:
        found = json.loads(value)
    except (ValueError, RecursionError):
        return NOTHING
    for name, number in _STEP.findall(steps):
        if name and isinstance(found, dict) and name in found:
            found = found[name]
        elif number and isinstance(found, list) and int(number) < len(found):
            found = found[int(number)]
        else:
            return NOTHING
    return found
