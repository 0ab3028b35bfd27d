"""Commands of Holdfast, run as processes of their own: the same that a person would type."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from typing import Any

from holdfast.errors import Unavailable

_SAID_MAX = 500


def run_command(
    *words: str, may_fail: bool = False, on_facts: Callable[[Mapping[str, Any]], None] | None = None
) -> Mapping[str, Any]:
    """Run `holdfast WORDS --json`; the last JSON object that it printed. `on_facts` gets each as it comes."""
    shown = f"holdfast {' '.join(words[:1])}"
    facts: Mapping[str, Any] | None = None
    with tempfile.TemporaryFile("w+") as talk:
        command = [sys.executable, "-m", "holdfast.cli", *words, "--json"]
        # A session of its own: what it starts, such as a JVM, can be ended with it.
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=talk, text=True, start_new_session=True) as child:
            try:
                assert child.stdout is not None
                for line in child.stdout:
                    facts = _parsed(line) or facts
                    if facts is not None and on_facts is not None:
                        on_facts(facts)
                code = child.wait()
            except BaseException:
                os.killpg(child.pid, signal.SIGKILL)
                raise
        talk.seek(0)
        if (code and not may_fail) or facts is None:
            said = talk.read()[-_SAID_MAX:].strip() or "it does not say why"
            raise Unavailable(f"`{shown}` ended with {code}: {said}")
    return facts


def _parsed(line: str) -> Mapping[str, Any] | None:
    try:
        found = json.loads(line)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None
