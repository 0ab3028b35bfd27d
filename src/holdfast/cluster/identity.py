"""Whose store it is: one small object with the cluster's id, which nobody else reads or writes.

    cluster.json   {"version": 1, "cluster": "<32 hex digits>"}

It is written once, before anything else is, and never again.
"""

from __future__ import annotations

import json

from holdfast.io.objects import Exists, Objects
from holdfast.io.objects.names import CLUSTER as CLUSTER
from holdfast.io.store_errors import Damaged, NewerFormat

VERSION = 1


def encode_cluster(cluster: str) -> bytes:
    return json.dumps({"version": VERSION, "cluster": cluster}).encode()


def decode_cluster(data: bytes) -> str:
    """The cluster's id, as the store says it."""
    try:
        body = json.loads(data)
        version = int(body["version"])
        if version > VERSION:  # First: what else a later release says there, it alone knows.
            raise NewerFormat(CLUSTER, version, VERSION)
        cluster = body["cluster"]
    except (ValueError, TypeError, KeyError, RecursionError) as failure:
        raise _damaged(repr(failure)) from failure
    if not isinstance(cluster, str) or not cluster:
        raise _damaged(f"its id is {cluster!r}")
    return cluster


def _damaged(why: str) -> Damaged:
    return Damaged(CLUSTER, f"it does not say which cluster the store belongs to: {why}")


def read_cluster(objects: Objects) -> str:
    """The id of the cluster that a store belongs to. Raises NotFound where no cluster has ever been."""
    return decode_cluster(objects.get(CLUSTER))


def claim_store(objects: Objects, cluster: str) -> str:
    """Make a store this cluster's, unless it is one's already; whose it is."""
    try:
        objects.put_if_absent(CLUSTER, [encode_cluster(cluster)])
    except Exists:
        return read_cluster(objects)
    return cluster
