"""Writes the page of the subscriptions' protocol from its proto file: `make docs`. With --check it only compares."""

from __future__ import annotations

from pathlib import Path

from publish import publish

PAGE = Path(__file__).parents[1] / "reference" / "subscribe-proto.md"
PROTO = Path(__file__).parents[2] / "src" / "holdfast" / "subscribe" / "wire" / "schema" / "subscribe.proto"
NOTICE = "<!-- Written by docs/tools/subscribe_proto.py. Do not edit: change subscribe.proto, then `make docs`. -->"
HEAD = """# The protocol of subscriptions

For clients in other languages: gRPC at the port that `subscribe.listen` names. The file is in every installation, as
`holdfast/subscribe/wire/schema/subscribe.proto`, and a server tells it by reflection, as `grpcurl` asks for it. A
client that asks for neither batches nor references gets each event as a message of its own, and needs nothing else:
[twenty lines of Node](../../tests/node/subscribe.js). What events, cursors and filters mean is in the
[guide](../guides/subscribe.md).

```proto
"""

if __name__ == "__main__":
    publish(PAGE, f"{NOTICE}\n{HEAD}{PROTO.read_text()}```\n")
