"""The message classes are those of the schema."""

from __future__ import annotations

from pathlib import Path

from holdfast.subscribe.wire.schema import generate


def test_the_classes_are_current(tmp_path: Path) -> None:
    """S1: the committed classes are what the schema gives."""
    generate.generate(tmp_path)
    for name in (f"{each}_pb2.{kind}" for each in ("subscribe", "reflection") for kind in ("py", "pyi")):
        assert (tmp_path / name).read_text() == (generate.HERE / name).read_text(), f"run {generate.__name__} again"
