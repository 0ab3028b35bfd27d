"""Known ways to break a promise that its test once did not notice: it said more than it asserted."""

from __future__ import annotations

from tests.bugs.bug import Bug, Edit

BUGS = [
    Bug(
        "sync: writes uncompressed what was compressed",
        (Edit("sync/lane.py", "codec = columns.batches[-1].codec", "codec = 0"),),
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
]
