"""Known ways in which a backup destroys what it should save, and one to wake up wrongly."""

from __future__ import annotations

from tests.bugs.bug import Bug, Edit

WAKES = "tests/log/test_owner_wakes.py"
CONNECTIONS = "tests/broker/test_connections.py"
PLACES = "tests/operate/test_backup_places.py"

BUGS = [
    Bug(
        "a broker that stops takes in what still comes",
        (Edit("broker/net/connection.py", "            and not self._server.is_ending\n", ""),),
        ("tests/broker/test_stop.py::test_who_asks_on_and_on_does_not_keep_a_broker_from_its_end",),
    ),
    Bug(
        "a broker that stops says goodbye to those whom it never answered",
        (
            Edit(
                "broker/net/connection.py", "        self._reset_if_new()\n        self.close()", "        self.close()"
            ),
        ),
        ("tests/broker/test_stop.py::test_who_was_never_answered_is_reset",),
    ),
    Bug(
        "a backup writes into any folder",
        (
            Edit(
                "operate/backup/marker.py",
                '        if stranger is not None:\n            raise Rejected(f"{target}',
                '        if False:\n            raise Rejected(f"{target}',
            ),
        ),
        (f"{PLACES}::test_beside_a_running_broker_nothing_but_a_backup_is_written_to",),
    ),
    Bug(
        "a backup writes into any store",
        (
            Edit(
                "operate/backup/marker.py",
                "        if stranger is not None:\n            told",
                "        if False:\n            told",
            ),
        ),
        (f"{PLACES}::test_beside_a_running_broker_nothing_but_a_backup_is_written_to",),
    ),
    Bug(
        "a backup takes the store of another",
        (Edit("operate/backup/marker.py", "    if found != mine:", "    if False:"),),
        (f"{PLACES}::test_the_store_of_another_backup_is_not_taken",),
    ),
    Bug(
        "a backup goes on where a broker has run",
        (Edit("operate/backup/marker.py", "    if strangers:", "    if False:"),),
        (f"{PLACES}::test_a_backup_that_a_broker_runs_on_is_left_alone",),
    ),
    Bug(
        "a backup does not hold its target",
        (Edit("operate/backup/run.py", '    with held(place, "backup"):', "    if True:"),),
        (f"{PLACES}::test_a_backup_that_a_broker_runs_on_is_left_alone",),
    ),
    Bug(
        "a backup compares places by name only",
        (
            Edit(
                "operate/backup/apart.py",
                "    if _identity(left) in _identities(right) or _identity(right) in _identities(left):\n"
                "        return True\n"
                "    return _nested(_on_file_system(left), _on_file_system(right))\n",
                "    return _nested(left.parts, right.parts)\n",
            ),
        ),
        (f"{PLACES}::test_a_folder_that_is_mounted_in_a_second_place_is_seen",),
    ),
    Bug(
        "a backup prunes what it did not write",
        (Edit("operate/backup/store.py", "(there & self.written) - needed", "there - needed"),),
        (f"{PLACES}::test_nothing_goes_that_a_backup_did_not_write",),
    ),
    Bug(
        "a backup lists names when they are written",
        (Edit("operate/backup/store.py", "            self._note(self.written)\n", ""),),
        (f"{PLACES}::test_what_a_backup_that_was_broken_off_has_written_is_known",),
    ),
    Bug(
        "a backup that was broken off passes for whole",
        (Edit("operate/backup/run.py", "    if not marker.whole:", "    if False:"),),
        (f"{PLACES}::test_what_a_backup_that_was_broken_off_has_written_is_known",),
    ),
    Bug(
        "a restore takes the clock's word for what time it is",
        (Edit("operate/backup/store.py", "        self._copy_all([KNOWN], self._source.get)\n", ""),),
        ("tests/operate/test_backup.py::test_a_restore_knows_what_time_it_was",),
    ),
    Bug(
        "a restore writes among somebody's files",
        (Edit("operate/backup/store.py", "    if strange is not None:", "    if False:"),),
        (f"{PLACES}::test_a_restore_takes_nothing_out_of_a_store",),
    ),
    Bug(
        "a backup does not look at the bytes it copies",
        (
            Edit(
                "operate/backup/store.py",
                "            if damage is None:\n                return data",
                "            if True:\n                return data",
            ),
        ),
        (f"{PLACES}::test_a_segment_is_checked_as_it_passes",),
    ),
    Bug(
        "a broker that was stopped acknowledges while it looks whether it is the owner",
        (
            Edit(
                "log/ownership/owner_watch.py",
                "        if self._waiting or self._is_late():  # It was stopped.",
                "        late = self._waiting or self._is_late()\n"
                "        self._alive_at = self._clock.boottime()\n"
                "        if late:  # It was stopped.",
            ),
        ),
        (f"{WAKES}::test_the_timer_is_first_and_acks_wait_until_it_has_looked",),
    ),
    Bug(
        "a subscription takes a bare mount point for its store",
        (Edit("subscribe/client/server_feed.py", "not os.path.exists(os.path.join(path, CLUSTER))", "False"),),
        ("tests/subscribe/test_store_unmounted.py",),
    ),
    Bug(
        "what a client sent before it left is dropped",
        (
            Edit(
                "broker/net/connection.py",
                "        if self._task is not None and not self._is_producing:\n            self._task.cancel()",
                "        self._waiting.clear()\n        if self._task is not None:\n            self._task.cancel()",
            ),
        ),
        (f"{CONNECTIONS}::test_what_was_sent_before_the_client_left_is_appended",),
    ),
    Bug(
        "what a client sent behind another request before it left is dropped",
        (
            Edit(
                "broker/net/connection.py",
                "            if decode_request_header(frame).api_key == Key.PRODUCE:\n"
                "                self._begin(frame)",
                "            if decode_request_header(frame).api_key != Key.PRODUCE:\n"
                "                break\n            self._begin(frame)",
            ),
        ),
        (f"{CONNECTIONS}::test_what_was_sent_behind_another_request_is_appended",),
    ),
    Bug(
        "a request that is refused holds its bytes for ever",
        (
            Edit(
                "broker/net/connection.py",
                "        finally:\n            if self._task is asyncio.current_task():\n"
                "                self._task = None\n",
                "        if self._task is asyncio.current_task():\n            self._task = None\n",
            ),
        ),
        (f"{CONNECTIONS}::test_a_request_that_is_refused_holds_nothing_afterwards",),
    ),
    Bug(
        "what is not answered in time is worked on while all is closed",
        (Edit("broker/net/server.py", "            each.stop()\n", "            each.close()\n"),),
        ("tests/broker/test_stop.py::test_what_is_late_is_worked_on_no_more",),
    ),
    Bug(
        "a stop forgets what clients that have gone had produced",
        (Edit("broker/net/connection.py", "        self._server.leaving.add(self)\n", ""),),
        ("tests/broker/test_stop.py",),
    ),
]
