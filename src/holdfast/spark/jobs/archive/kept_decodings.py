"""How the values of a topic were decoded, kept beside its archive: who reads newer records does it in the same way."""

from __future__ import annotations

import json
from typing import Final

from holdfast.catalog.store import Store
from holdfast.io.objects import NotFound
from holdfast.spark.jobs.archive.values import ValueDecoding
from holdfast.spark.jobs.commit_log import FOLDER

DECODINGS: Final = FOLDER + "decodings/"


def keep_decoding(store: Store, topic: str, decoding: ValueDecoding) -> None:
    """Keep it, if it is news."""
    if kept_decoding(store, topic) == decoding:
        return
    facts = {
        "kind": decoding.kind,
        "schema": json.loads(decoding.schema_json),
        "keep_value": decoding.keep_value,
        "registry": decoding.registry,
        "names": [list(each) for each in decoding.names],
    }
    store.open().put(_name(topic), [json.dumps(facts).encode()])


def kept_decoding(store: Store, topic: str) -> ValueDecoding | None:
    """How the newest run decoded; None where no run has said it."""
    try:
        facts = json.loads(store.open().get(_name(topic)))
    except NotFound:
        return None
    return ValueDecoding(
        facts["kind"],
        json.dumps(facts["schema"]),
        tuple((name, column) for name, column in facts["names"]),
        facts["keep_value"],
        facts["registry"],
    )


def _name(topic: str) -> str:
    return f"{DECODINGS}{topic}.json"
