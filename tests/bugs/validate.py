"""Known bugs of what is looked at before it is acknowledged, and of the configs that say so."""

from __future__ import annotations

from tests.bugs.bug import Bug, Edit

WIRE = "tests/broker/test_validation.py"
RECORDS = "tests/record/test_validate.py"


def bug(name: str, file: str, old: str, new: str, *tests: str) -> Bug:
    return Bug(name, (Edit(file, old, new),), tests)


BUGS = [
    bug(
        "records are not looked at before they are acknowledged",
        "broker/api/produce.py",
        "            validates = partition.settings.validates_records\n",
        "            validates = False\n",
        WIRE + "::test_a_batch_that_counts_wrongly_is_refused",
    ),
    bug(
        "a bomb is followed to its end",
        "record/validate.py",
        "        data = decompress(header.codec, data, expanded_size_max)\n",
        "        data = decompress(header.codec, data)\n",
        RECORDS + "::test_a_bomb_is_not_followed_to_its_end",
    ),
    bug(
        "offsets of a client's batch may have gaps",
        "record/read_loops.py",
        "        if offset_delta != index:\n",
        "        if offset_delta < index:\n",
        RECORDS + "::test_what_readers_refuse_is_refused",
    ),
    bug(
        "numbers of more bytes than clients read are taken",
        "record/validate.py",
        "    if after - position > _INT_SIZE_MAX:\n",
        "    if False:\n",
        RECORDS + "::test_what_readers_refuse_is_refused",
    ),
    bug(
        "what waits for a thread is overtaken",
        "broker/connection.py",
        "        self._task = asyncio.ensure_future(self._handle(request, slot))\n\n    def _go_on",
        "        asyncio.ensure_future(self._handle(request, slot))\n\n    def _go_on",
        WIRE + "::test_large_batches_keep_the_order_of_their_connection",
    ),
    bug(
        "records without a key are taken where keys are compacted",
        "log/admission.py",
        '        if records.keyless >= 0 and "compact" in settings.cleanup:\n',
        "        if False:\n",
        WIRE + "::test_records_without_a_key_are_refused_where_keys_are_compacted",
    ),
    bug(
        "times are believed to be what the header says",
        "log/admission.py",
        "        low, high = records.timestamp_min, records.timestamp_max\n",
        "        low, high = header.base_timestamp, header.max_timestamp\n",
        WIRE + "::test_a_record_far_ahead_is_refused",
    ),
    bug(
        "a header that lies about its largest time stays",
        "log/admission.py",
        "    stamp_max_timestamp(batch, high)  #",
        "    return header  #",
        WIRE + "::test_a_header_that_lies_about_its_largest_time_is_put_right",
    ),
]
