"""Known ways to get a broker wrong that only a crash shows: each part is right, and what they do together is not."""

from __future__ import annotations

from tests.bugs.bug import Bug, Edit

SEARCH = ("tests/sim/test_crashes.py::test_no_crash_loses_or_invents_anything[0]",)

BUGS = [
    Bug(
        "ack before fsync: an entry counts as durable when it is queued",
        (
            Edit(
                "log/journal.py",
                "        self._waiting.append((index, on_durable, number))\n",
                "        self._loop.call_soon(on_durable, number)\n",
            ),
        ),
        SEARCH,
    ),
    Bug(
        "watermark moved before the fsync",
        (Edit("log/partition/partition.py", 'visible=self.settings.durability == "memory")', "visible=True)"),),
        SEARCH,
    ),
    Bug(
        "flush releases the tail before the manifest is committed",
        (
            Edit(
                "log/partition/manifest_committer.py",
                "        await self._commit(*self._epoch_changes(), _append(info, after, stored_at))\n",
                "        partition.tail.release(Offset(taken[-1].end))\n"
                "        await self._commit(*self._epoch_changes(), _append(info, after, stored_at))\n",
            ),
        ),
        SEARCH,
    ),
    Bug(
        "producers are forgotten in a restart",
        (
            Edit(
                "log/recovery/opening.py",
                "        await partition.note_replayed()\n        partition.epochs.note(journal",
                "        partition.epochs.note(journal",
            ),
        ),
        SEARCH,
    ),
    Bug(
        "an unclean stop does not raise the epoch",
        (Edit("log/recovery/identify.py", "if kept is not None and not wal.opened.clean:", "if False:"),),
        SEARCH,
    ),
    Bug(
        "a committed offset is answered before it is durable",
        (
            Edit(
                "coordinator/runtime/writer.py", "log.durable.reached(places[-1].end_offset)", "log.durable.reached(0)"
            ),
        ),
        SEARCH,
    ),
    Bug(
        "the write-ahead log lets go of what is not in a segment yet",
        (Edit("log/pressure/purge.py", "None else tail.first.index\n", "None else tail.first.index + 1\n"),),
        SEARCH,
    ),
    Bug(
        "a topic is answered before it is in the metadata",
        (
            Edit(
                "broker/topics.py",
                "                await self._commit_new(topic.topic_id, range(partitions), create_topic(topic))\n",
                "                pass\n",
            ),
        ),
        SEARCH,
    ),
    Bug(
        "a deleted topic stays in the metadata",
        (
            Edit(
                "broker/topics.py",
                "                    await self._calls.run(self._metadata.commit, delete_topic(topic_id))\n",
                "                    pass\n",
            ),
        ),
        SEARCH,
    ),
    Bug(
        "producer ids are given again after a restart",
        (
            Edit(
                "broker/coordinators.py",
                "self._metadata.commit, take_producer_ids(start, start + count))\n",
                "lambda: None)\n",
            ),
        ),
        SEARCH,
    ),
]
