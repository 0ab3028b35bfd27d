"""What the commands say: data on stdout, talk on stderr, both readable without colour."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console


def tell(sentence: str) -> None:
    """One sentence for the person at the terminal."""
    print(sentence, file=sys.stderr, flush=True)


def sentence_of(failure: Exception) -> str:
    """What went wrong, for people."""
    if isinstance(failure, OSError) and failure.strerror:
        where = f"{failure.filename}: " if failure.filename else ""
        return f"holdfast: {where}{failure.strerror}"
    return f"holdfast: {failure}"


def give_json(value: object) -> None:
    """One JSON object on one line of stdout."""
    print(json.dumps(value, separators=(",", ":")))


def data_console() -> Console:
    """A console for tables on stdout; no markup or colour is needed to read them."""
    from rich.console import Console  # Here: who prints no table does not wait for it.

    return Console(highlight=False, soft_wrap=True)
