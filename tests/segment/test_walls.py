"""Who may look into a segment's bytes: the package itself, so that there is one rule for what is right."""

from __future__ import annotations

import ast
from pathlib import Path

import holdfast

ROOT = Path(holdfast.__file__).parent
INSIDE = ("segment/",)
OURS = {"decode_tail", "decode_footer", "check_header"}


def test_nobody_else_opens_a_tail_or_sums_up_an_interval() -> None:
    """S7, P4, O2: a second reader would have a second opinion."""
    for path in sorted(ROOT.rglob("*.py")):
        name = path.relative_to(ROOT).as_posix()
        if name.startswith(INSIDE):
            continue
        tree = ast.parse(path.read_text())
        used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        assert not used & OURS, name
        fields = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
        assert not ("crc32c" in used and fields & {"interval", "index_position", "interval_of_offset"}), name
