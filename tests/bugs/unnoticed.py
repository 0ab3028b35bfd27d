"""Known ways to break a promise that its test once did not notice: it said more than it asserted."""

from __future__ import annotations

from tests.bugs.bug import Bug, Edit

BUGS = [
    Bug(
        "sync: writes uncompressed what was compressed",
        (Edit("sync/carry/lane.py", "codec = columns.batches[-1].codec", "codec = 0"),),
        ("tests/sync/test_copy.py::test_compressed_batches",),
    ),
    Bug(
        "segment: the manifests of a deleted topic go oldest first",
        (Edit("segment/garbage.py", "reversed([*objects.list(prefix)])", "objects.list(prefix)"),),
        ("tests/segment/test_garbage.py::test_a_topic_half_deleted_says_it_is_gone_not_damaged",),
    ),
    Bug(
        "log: garbage is collected while something is put",
        (Edit("log/background/maintenance.py", "if partition.is_storing:", "if False:"),),
        ("tests/log/test_clocks.py::test_nothing_is_collected_while_something_is_put",),
    ),
    Bug(
        "groups: a record that another has replaced is looked into",
        (
            Edit(
                "coordinator/group/loader.py",
                "            self._groups[key.group_id] = record.value",
                "            self._groups[key.group_id] = record.value\n            decode_group(record.value)",
            ),
        ),
        ("tests/coordinator/test_load.py::test_a_newer_or_damaged_record_is_refused",),
    ),
    Bug(
        "produce: a bomb is followed to its end",
        (
            Edit(
                "log/settings.py",
                "batch_expanded_size_max: int = 128 * MIB",
                "batch_expanded_size_max: int = 900 * MIB",
            ),
        ),
        ("tests/broker/test_validation.py::test_a_bomb_is_refused",),
    ),
    Bug(
        "repair: producer ids are handed out again",
        (Edit("operate/repair/metadata.py", "found.value.producer_ids_end + _PRODUCER_IDS_SKIPPED", "0"),),
        ("tests/operate/test_repair.py::test_the_newest_metadata_is_damaged",),
    ),
    Bug(
        "subscribe: what retention took is skipped without a word",
        (Edit("subscribe/client/segment_pieces.py", 'log.warning("%s: offsets', 'log.debug("%s: offsets'),),
        ("tests/subscribe/test_segments_gone.py::test_what_retention_took_is_skipped_and_counted",),
    ),
    Bug(
        "transactions: an id with an open transaction is forgotten",
        (
            Edit(
                "coordinator/transaction/coordinator.py",
                "if hosted.value.state.is_idle and hosted.value.changed_at_ms <= before_ms:",
                "if hosted.value.changed_at_ms <= before_ms:",
            ),
        ),
        ("tests/coordinator/test_transaction_ids.py::test_an_id_that_nobody_uses_is_forgotten",),
    ),
]
