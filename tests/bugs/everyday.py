"""Known bugs of everyday commands."""

from __future__ import annotations

from tests.bugs.bug import Bug, Edit

EVERYDAY = "tests/cli/test_everyday.py"
WRONG_DOOR = "tests/cli/test_wrong_door.py"


def bug(name: str, file: str, old: str, new: str, *tests: str) -> Bug:
    return Bug(name, (Edit(file, old, new),), tests)


BUGS = [
    bug(
        "s3//bucket is a directory",
        "io/objects/open.py",
        "|file|memory)(:|//)",
        "|file|memory):",
        EVERYDAY + "::test_what_is_a_typo_is_one_sentence_and_makes_nothing",
    ),
    bug(
        "a time may be negative",
        "config.py",
        "    if type(value) is int and value < least:\n",
        "    if False:\n",
        "tests/packaging/test_config.py::test_what_cannot_be_so_little_is_refused",
    ),
    bug(
        "a folder that a test run has just made is swept by the next one",
        "testing/folders.py",
        '    new = folder / f"{_OWNER}.new"\n',
        "    new = folder / _OWNER\n",
        "tests/testing/test_running_broker.py::test_a_folder_that_is_just_made_is_not_swept",
    ),
    bug(
        "who waits for a broker that hangs waits on",
        "cli/terminal/broker.py",
        "timeout_s=asked_s, ",
        "",
        WRONG_DOOR + "::test_waiting_for_a_broker_that_hangs_ends_when_it_was_said_to",
    ),
    bug(
        "who waits for a cluster waits for the dead, too",
        "client/client.py",
        "groups.groups_of(self._nodes.controller())",
        "groups.list_groups(self._nodes)",
        "tests/docs/test_service_blocks.py::TestWithS3::test_two_machines_on_one_bucket",
    ),
    bug(
        "a subscription that is told to end says no cursor",
        "cli/subscribe/run.py",
        "    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)\n",
        "",
        "tests/docs/test_service_blocks.py::test_subscriptions_of_two_places_and_from_a_cursor",
    ),
    bug(
        "a subscription at the console's port never ends",
        "cli/subscribe/run.py",
        '            return link.recv(7) == b"HTTP/1."\n',
        "            return False\n",
        WRONG_DOOR + "::test_a_subscription_at_a_port_of_http_ends_with_a_sentence",
    ),
    bug(
        "TLS hangs at the port of the metrics",
        "metrics/endpoint.py",
        "                    if not begin.isalpha():\n",
        "                    if False:\n",
        WRONG_DOOR + "::test_tls_at_a_port_without_it_is_ended_at_once",
    ),
    bug(
        "certificates for tests do not say who has signed them",
        "testing/certificates.py",
        "        made = made.add_extension(signer, critical=False)  # Python 3.13 and later insist on it.\n",
        "",
        "tests/testing/test_secured_broker.py::test_its_certificates_pass_the_strict_checks_of_later_pythons",
    ),
    bug(
        "a group stands behind what was fetched, not behind what was printed",
        "cli/consume/follow.py",
        "                return False\n            self.given",
        "                return True\n            self.given",
        EVERYDAY + "::test_a_group_goes_on_where_it_stands",
    ),
    bug(
        "a flush answers before everything is in the store",
        "broker/api/alter_configs.py",
        "        while log.marks.flushed < end and await log.flush():\n",
        "        while log.marks.flushed < end and False:\n",
        EVERYDAY + "::test_a_flush_puts_everything_into_the_store",
    ),
    bug(
        "the last record before --until is left out",
        "cli/consume/start.py",
        "        return {number: min(until.value, ends[number]) for number in partitions}\n",
        "        return {number: min(until.value - 1, ends[number]) for number in partitions}\n",
        EVERYDAY + "::test_until_stops_before_an_offset_or_a_time",
    ),
    bug(
        "an archive hides what it left out",
        "cli/archive/show.py",
        "    for topic, count in left_out.items():\n",
        "    for topic, count in ():\n",
        "tests/cli/test_small_jobs.py::test_what_is_in_no_segment_yet_is_counted_or_flushed_first",
    ),
    bug(
        "five records wait for a JVM",
        "spark/session/small.py",
        "        if self._session is None and (self._size_max is None or size <= self._size_max):\n",
        "        if self._session is None and self._size_max is None:\n",
        "tests/cli/test_small_jobs.py",
    ),
    bug(
        "workers that share a broker start one each",
        "testing/plugin.py",
        "        node.workerinput[_SHARED] = self._broker.port\n",
        "",
        "tests/testing/test_in_a_line.py::test_workers_of_xdist_share_a_broker_or_have_one_each",
    ),
    bug(
        "the age of what is in no segment is always nothing",
        "metrics/collect.py",
        "            oldest = min(oldest, next((batch.appended_at for batch in log.tail), now))\n",
        "",
        "tests/metrics/test_status.py::test_a_broker_is_well_in_one_line",
    ),
    bug(
        "a forked broker loads everything again",
        "testing/template.py",
        "    _load()\n    gc.collect()\n",
        "    gc.collect()\n",
        "tests/testing/test_template.py::test_a_start_takes_less_than_two_fifths_of_a_second_of_a_processor",
    ),
    bug(
        "what a produce request was refused for is not counted",
        "broker/api/produce.py",
        '        self._produce.errors["Produce", code] += 1\n',
        "",
        "tests/metrics/test_metrics.py::test_errors_are_counted_by_api_and_code",
    ),
]
