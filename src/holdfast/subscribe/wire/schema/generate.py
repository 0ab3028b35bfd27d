"""Make the message classes again: `python -m holdfast.subscribe.wire.schema.generate`. Needs grpcio-tools."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).parent


def generate(target: Path) -> None:
    """Write the classes and their types into a folder."""
    from grpc_tools import protoc

    files = ("subscribe.proto", "reflection.proto")
    arguments = ["protoc", f"-I{HERE}", f"--python_out={target}", f"--pyi_out={target}", *files]
    if protoc.main(arguments):
        sys.exit("the schema could not be compiled")


if __name__ == "__main__":
    generate(HERE)
