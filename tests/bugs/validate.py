"""Known bugs of what is looked at before it is acknowledged, and of the configs that say so."""

from __future__ import annotations

from tests.bugs.bug import Bug, Edit

WIRE = "tests/broker/test_validation.py"
RECORDS = "tests/record/test_validate.py"
PROMISES = "tests/log/test_topic_promises.py"
NATIVE = "tests/native/test_one_batch.py"
OLD_DATA = "test_unreadable.py"
CONFIGS = "tests/broker/test_config_promises.py"


def bug(name: str, file: str, old: str, new: str, *tests: str) -> Bug:
    return Bug(name, (Edit(file, old, new),), tests)


BUGS = [
    bug(
        "records are not looked at before they are acknowledged",
        "broker/api/produce.py",
        "            if records is None and partition.settings.validates_records:\n",
        "            if False:\n",
        WIRE + "::test_a_batch_that_counts_wrongly_is_refused",
    ),
    bug(
        "machine code takes a batch whose crc is wrong",
        "native/source/produce.c",
        "    return crc32c_of(batch + ATTRIBUTES_AT, (size_t)(size - ATTRIBUTES_AT), 0) == big32(batch + CRC_AT);\n",
        "    return crc32c_of(batch, 1, 0) != 0;\n",
        NATIVE + "::test_a_request_with_a_wrong_crc_is_left_to_python",
    ),
    bug(
        "machine code takes a record that leaves bytes over",
        "native/source/check.c",
        "        if (at < limit)\n",
        "        if (0)\n",
        NATIVE + "::test_it_takes_nothing_that_python_refuses",
    ),
    bug(
        "machine code counts offsets of records wrongly",
        "native/source/check.c",
        "        if (offset_delta != index)\n",
        "        if (offset_delta < 0)\n",
        NATIVE + "::test_it_takes_nothing_that_python_refuses",
    ),
    bug(
        "machine code believes what a request says of its batch's size",
        "native/source/produce.c",
        "        return one->batch_size >= 0 && one->batch + one->batch_size == size;\n",
        "        return one->batch_size >= 0;\n",
        "tests/native/test_sanitized.py",
    ),
    bug(
        "machine code takes what follows a request for nothing",
        "native/source/produce.c",
        "    return tags[0] == 0 && tags[1] == 0 && tags[2] == 0;\n",
        "    return tags != NULL;\n",
        NATIVE + "::test_everything_else_is_left_to_python",
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
        "record/loops/read_loops.py",
        "        if offset_delta != index:\n",
        "        if offset_delta < index:\n",
        "tests/native/test_record_loops.py::test_what_is_malformed_is_found_at_the_same_place",
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
        "broker/net/connection.py",
        "        self._task = asyncio.ensure_future(self._handle(request, slot))\n\n    def hold",
        "        asyncio.ensure_future(self._handle(request, slot))\n\n    def hold",
        WIRE + "::test_large_batches_keep_the_order_of_their_connection",
    ),
    bug(
        "records without a key are taken where keys are compacted",
        "log/partition/admission.py",
        '        if records.keyless >= 0 and "compact" in settings.cleanup:\n',
        "        if False:\n",
        WIRE + "::test_records_without_a_key_are_refused_where_keys_are_compacted",
    ),
    bug(
        "only the first record without a key is told",
        "log/partition/admission.py",
        "raise RecordsWithoutKey(records_without_key(header, batch, records.keyless))",
        "raise RecordsWithoutKey([records.keyless])",
        WIRE + "::test_which_records_have_no_key_is_told",
    ),
    bug(
        "times are believed to be what the header says",
        "log/partition/admission.py",
        "        low, high = records.timestamp_min, records.timestamp_max\n",
        "        low, high = header.base_timestamp, header.max_timestamp\n",
        WIRE + "::test_a_record_far_ahead_is_refused",
    ),
    bug(
        "a header that lies about its largest time stays",
        "log/partition/admission.py",
        "    stamp_max_timestamp(batch, high)  #",
        "    return header  #",
        WIRE + "::test_a_header_that_lies_about_its_largest_time_is_put_right",
    ),
    bug(
        "a topic's own age of segments is not looked at",
        "log/background/flusher.py",
        "        return oldest if self._age_left(first) <= 0 else self._next_by_own()\n",
        "        return oldest if self._age_left(first) <= 0 else None\n",
        PROMISES + "::test_a_tail_becomes_a_segment_when_its_topic_says_so",
    ),
    bug(
        "a topic with small segments waits for the round of all",
        "log/background/flusher.py",
        "            self._flushed(partition)\n",
        "",
        PROMISES + "::test_records_are_compacted_as_soon_as_their_topic_promises",
    ),
    bug(
        "the dirty ratio of a topic is ignored",
        "log/background/compaction.py",
        "dirty >= settings.dirty_ratio_min",
        "dirty >= 0.5",
        PROMISES + "::test_less_than_the_ratio_is_left_alone",
    ),
    bug(
        "records are compacted however young they are",
        "segment/compaction/keys.py",
        "    if rules.lag_ms_min > 0:\n",
        "    if False:\n",
        PROMISES + "::test_what_is_too_young_is_not_compacted",
    ),
    bug(
        "what is dirty for long stays dirty",
        "log/background/compaction.py",
        "        if 0 <= first.min_timestamp < now_ms - lag_ms_max:\n",
        "        if False:\n",
        PROMISES + "::test_what_is_dirty_for_long_is_compacted_however_little_it_is",
    ),
    bug(
        "what cannot be done is accepted and ignored",
        "broker/configs/topic.py",
        "        if self.fixed and value != self.default:\n",
        "        if False:\n",
        CONFIGS + "::test_what_cannot_be_done_is_refused_with_a_sentence",
    ),
    bug(
        "who steps over unreadable batches looks at no crc",
        "record/columnar/decode.py",
        "                    if self.verify_crc:\n",
        "                    if self.verify_crc and self.skip is None:\n",
        f"tests/record/{OLD_DATA}",
    ),
    bug(
        "a subscription stops at what nobody can read",
        "subscribe/merge/piece.py",
        "Decoder(place=wanted.place, control=True, skip=skip)",
        "Decoder(place=wanted.place, control=True)",
        f"tests/subscribe/{OLD_DATA}",
    ),
    bug(
        "a subscription steps over what nobody can read in silence",
        "subscribe/server/partition_reader.py",
        "            await self.on_skipped(lane, each.start, each.end)\n",
        "            pass\n",
        f"tests/subscribe/{OLD_DATA}",
    ),
    bug(
        "Spark's source loses what nobody can read in silence",
        "catalog/read.py",
        '        on_loss(DataLost(where, one.start, one.end, f"nobody can read this batch: {one.why}"))\n',
        "        pass\n",
        f"tests/spark/{OLD_DATA}",
    ),
    bug(
        "consume stops at what nobody can read",
        "cli/consume/records.py",
        "            except UNREADABLE as violation:\n",
        "            except ZeroDivisionError as violation:\n",
        "tests/cli/test_consume_unreadable.py",
    ),
    bug(
        "without numba records are taken unseen",
        "record/validate.py",
        "        return _check_in_python(header, memoryview(data))\n",
        "        return Records(header.base_timestamp, header.max_timestamp, -1)\n",
        "tests/record/test_without_numba.py",
    ),
    bug(
        "without numba numbers that go round are told on stderr",
        "record/compiled.py",
        'r"holdfast\\..*_loops"',
        'r"holdfast\\.nowhere"',
        "tests/record/test_without_numba.py",
    ),
]
