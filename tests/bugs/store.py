"""Bugs of the store's side: what is at its path, how long a put may take, a broker that starts without it."""

from __future__ import annotations

from tests.bugs.bug import Bug, Edit

ROOT = "tests/io/test_local_root.py"
UPLINK = "tests/log/test_slow_uplink.py"
START = "tests/operate/test_start_without_store.py"
MOUNT = "tests/operate/test_mount_gone_real.py"

BUGS = [
    Bug(
        "a store is not recognised before a call",
        (
            Edit(
                "io/objects/local/root.py",
                "            if sight != self._known:\n",
                "            if self._known is None:\n",
            ),
        ),
        (f"{ROOT}::test_a_bare_mount_point_is_not_the_store",),
    ),
    Bug(
        "any cluster's store will do",
        (Edit("io/objects/local/root.py", "if self._mark is not None and mark != self._mark:", "if False:"),),
        (f"{ROOT}::test_another_clusters_store_at_the_same_place_is_refused",),
    ),
    Bug(
        "a store is known by its place alone",
        (Edit("io/objects/local/root.py", "if self._mark is None and is_new_place:", "if is_new_place:"),),
        (f"{ROOT}::test_a_store_that_comes_back_on_another_device_is_known_by_its_cluster_file",),
    ),
    Bug(
        "a known log writes its cluster into any empty place",
        (Edit("log/recovery/identify.py", "if kept is None else _known_cluster(objects)", ""),),
        (f"{MOUNT}::test_a_start_without_the_mount_writes_nothing",),
    ),
    Bug(
        "a put has no more time than any other call",
        (Edit("io/objects/remote_client.py", "if size <= SMALL_SIZE:", "if True:"),),
        ("tests/io/test_slow_uplink.py::test_a_put_has_the_time_of_its_bytes",),
    ),
    Bug(
        "segments stay large however slow the store is",
        (Edit("log/partition/manifest_committer.py", "            ground.pace.note_timeout(number)\n", ""),),
        (f"{UPLINK}::test_a_large_tail_gets_through_a_slow_line",),
    ),
    Bug(
        "a store that is well again stays slow",
        (Edit("log/background/flush_size.py", "        self._good += 1\n", ""),),
        ("tests/log/test_pace.py::test_successes_bring_it_back",),
    ),
    Bug(
        "a broker starts on a store without put-if-absent",
        (Edit("broker/running.py", "        if settings.check_store:", "        if False:"),),
        ("tests/io/test_put_check.py::test_a_broker_does_not_start_on_a_store_without_it",),
    ),
    Bug(
        "the question leaves an object behind each time",
        (Edit("io/objects/put_check.py", "            objects.delete(NAME)\n", "            pass\n"),),
        ("tests/io/test_put_check.py::test_a_store_that_keeps_it_is_left_as_it_was",),
    ),
    Bug(
        "a start without the store fails",
        (
            Edit(
                "cli/serve/start.py",
                "    copy = read_copy(RealDirectory(data)) if is_here else None",
                "    copy = None",
            ),
        ),
        (f"{START}::test_clients_wait_for_a_store_that_is_away_at_the_start",),
    ),
    Bug(
        "a broker that waits goes on waiting",
        (Edit("cli/serve/start.py", "        switch.work, server.held = broker.broker, broker.broker.held\n", ""),),
        (f"{START}::test_clients_wait_for_a_store_that_is_away_at_the_start",),
    ),
    Bug(
        "a consumer is reset while the store is away",
        (Edit("broker/waiting/reads.py", "NOT_NOW = Code.KAFKA_STORAGE_ERROR", "NOT_NOW = Code.OFFSET_OUT_OF_RANGE"),),
        (f"{START}::test_clients_wait_for_a_store_that_is_away_at_the_start",),
    ),
]
