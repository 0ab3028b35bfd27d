"""Known bugs of the console."""

from __future__ import annotations

from tests.bugs.bug import Bug, Edit

RIGHTS = "tests/console/test_rights.py"
PAGES = "tests/console/test_pages.py"
CHANGES = "tests/console/test_changes.py"
SCHEMAS = "tests/console/test_schemas.py"
FOLLOWERS = "tests/console/test_followers.py"
MANY = "tests/console/test_many.py"
SURVEY = "tests/console/test_survey.py"
HTTP = "tests/console/test_http.py"
WAYS_IN = "tests/console/test_ways_in.py"
HEADERS = "tests/console/test_headers.py"
BOUNDS = "tests/console/test_bounds.py"
AT_ONCE = PAGES + "::test_no_more_streams_are_open_than_sixteen_although_all_come_at_once"


def bug(name: str, file: str, old: str, new: str, *tests: str) -> Bug:
    return Bug(name, (Edit(file, old, new),), tests)


BUGS = [
    bug(
        "an audit on Proof names topics that may not be described",
        "console/pages/proof.py",
        'if report.kind != "audit" or sees(name.rpartition("-")[0])',
        "if True",
        FOLLOWERS + "::test_topics_that_may_not_be_described_are_in_no_report",
    ),
    bug(
        "a store is away for as long as its last call took",
        "io/objects/timed.py",
        "            away_since = self._seen.away_since or began\n",
        "            away_since = began\n",
        "tests/metrics/test_measure.py::test_a_store_is_away_from_the_first_failure_to_the_next_answer",
    ),
    bug(
        "who has waited long enough is said to wait for ever",
        "broker/throttle.py",
        "                bucket.fill(now)\n                if bucket.wait_s > 0:\n",
        "                if bucket.wait_s > 0:\n",
        "tests/broker/test_quota_rates.py::test_who_waits_for_a_quota_now_is_known_by_name",
    ),
    bug(
        "a group's history counts topics that may not be seen",
        "console/lag.py",
        "[lags[group, each] for each in topics if (group, each) in lags]",
        "[each for (who, _), each in lags.items() if who == group]",
        SURVEY + "::test_lags_are_remembered_for_an_hour_whether_somebody_looks_or_not",
    ),
    bug(
        "a list of topics is not cut",
        "console/pages/topics.py",
        "found[start : start + ROWS_MAX]",
        "found[start:]",
        MANY + "::test_pages_stay_small_and_quick",
    ),
    bug(
        "an archive is said to have caught up for ever",
        "console/followers.py",
        "max(log.last_stable - offset, 0)",
        "0",
        FOLLOWERS + "::test_an_archive_is_seen_with_what_it_has_yet_to_take",
    ),
    bug(
        "an archive that failed forgets how far it was",
        "cli/archive/show.py",
        'dict(before.facts.get("next", {})) if before is not None else {}',
        "{}",
        FOLLOWERS + "::test_an_archive_is_seen_with_what_it_has_yet_to_take",
    ),
    bug(
        "checkpoints of syncs are read once only",
        "console/followers.py",
        "        self._next = max(read.next_offset, self._next)\n",
        "        self._next = log.marks.high_watermark + 1_000_000\n",
        FOLLOWERS + "::test_a_sync_is_seen_by_its_checkpoints_and_both_ways_by_its_metrics",
    ),
    bug(
        "an Avro value whose type holds itself is read however long it is",
        "record/values/avro.py",
        "        if looked.holds_itself and len(data) > SELF_HOLDING_SIZE_MAX:\n",
        "        if False:\n",
        "tests/record/test_schema_values.py::test_a_value_whose_type_holds_itself_cannot_overflow_the_stack",
    ),
    bug(
        "a list of nulls may be as long as its first number says",
        "record/values/avro.py",
        '            if within.is_empty and kind == "array":\n',
        "            if False:\n",
        "tests/record/test_schema_values.py::test_schemas_whose_values_nothing_bounds_are_refused",
    ),
    bug(
        "schemas of a registry are kept for ever",
        "console/schemas.py",
        "            while len(self.known) >= KNOWN_MAX:\n                del self.known[next(iter(self.known))]\n",
        "",
        SCHEMAS + "::test_no_more_schemas_are_kept_than_so_many",
    ),
    bug(
        "a value that is not what its schema says is shown without a word",
        "console/shown.py",
        'len(data or b"") > size_max, decoded.why if decoded else ""',
        'len(data or b"") > size_max, ""',
        SCHEMAS + "::test_values_are_decoded_by_the_registry",
    ),
    bug(
        "a search by JSON path looks into no decoded value",
        "console/search.py",
        "told.value if told and by_schema else _json_of(value)",
        "_json_of(value)",
        SCHEMAS + "::test_searches_look_into_decoded_values",
    ),
    bug(
        "a topic's row names groups that may not be described",
        "console/pages/topics.py",
        " if visit.visitor.sees_group(group)}",
        "}",
        RIGHTS + "::test_a_topic_s_row_names_no_group_that_may_not_be_described",
    ),
    bug(
        "the console lists topics that may not be described",
        "console/pages/topics.py",
        "[each async for each in Pace(now).through(rows.values()) if visit.visitor.sees_topic(each.name)]",
        "list(rows.values())",
        RIGHTS + "::test_lists_leave_out_what_may_not_be_described",
    ),
    bug(
        "a page of a topic asks for no right",
        "console/answers.py",
        "    if not visitor.sees_topic(name):\n",
        "    if False:\n",
        RIGHTS + "::test_each_route_asks_for_its_right",
    ),
    bug(
        "a login is taken from a page of another site",
        "console/console.py",
        "        check_same_origin(request)\n        if request.path",
        "        if request.path",
        RIGHTS + "::test_a_login_is_a_cookie_that_no_script_reads",
    ),
    bug(
        "the console answers to any name",
        "console/answers.py",
        "    if name in names:\n        return True\n",
        "    if name:\n        return True\n",
        PAGES + "::test_a_name_that_is_not_ours_is_not_answered",
    ),
    bug(
        "a cursor leads out of the topics that were asked for",
        "console/pages/records.py",
        "        if topic not in topics:\n",
        "        if False:\n",
        RIGHTS + "::test_no_search_leaves_the_topics_that_may_be_read",
    ),
    bug(
        "a search forgets the records it has read and not shown",
        "console/scan.py",
        '        return int(self.rows[0]["offset"]) if self.rows else self.offset\n',
        "        return self.offset\n",
        PAGES + "::test_a_search_goes_on_from_its_cursor",
    ),
    bug(
        "what an open transaction wrote is shown as committed",
        "console/search.py",
        "        if self.open.get(header.producer_id, offset + 1) <= offset:\n",
        "        if False:\n",
        PAGES + "::test_records_are_found_by_what_is_known_of_them",
    ),
    bug(
        "users are among the objects that are shown",
        "console/pages/store.py",
        'SHOWN: Final = ("meta/",',
        'SHOWN: Final = ("auth/", "meta/",',
        PAGES + "::test_the_store_is_told_by_calls_and_by_objects",
    ),
    bug(
        "the console changes things although nobody has asked for that",
        "console/changes.py",
        "    if not asked.parts.settings.write:\n",
        "    if False:\n",
        CHANGES + "::test_nothing_is_changed_unless_that_was_asked_for",
    ),
    bug(
        "a change is made without the name being repeated",
        "console/changes.py",
        '    if name and asked.text("repeat") != name:\n',
        "    if False:\n",
        CHANGES + "::test_each_change_asks_for_its_right_and_is_asked_twice",
    ),
    bug(
        "a change is taken from a page of another site",
        "console/console.py",
        "        check_same_origin(request)\n        visitor",
        "        visitor",
        CHANGES + "::test_each_change_asks_for_its_right_and_is_asked_twice",
    ),
    bug(
        "a change of the console is in no audit log",
        "console/changes.py",
        '    asked.visitor.gate.changed(asked.visitor.session, f"console: {done}")\n',
        "",
        CHANGES + "::test_each_change_asks_for_its_right_and_is_asked_twice",
    ),
    bug(
        "a stream's work goes on when its visitor has left",
        "console/http.py",
        "                if not each.done():\n                    each.cancel()\n",
        "                if each is leaving:\n                    each.cancel()\n",
        HTTP + "::test_who_leaves_ends_the_work",
    ),
    bug(
        "the console is open beyond loopback",
        "cli/serve/doors.py",
        "        elif is_here or allow_anonymous:\n            return Door(address, None)",
        "        else:\n            return Door(address, None)",
        RIGHTS + "::test_beyond_loopback_a_start_needs_a_protection",
    ),
    bug(
        "a page is followed beyond its visitor's login",
        "console/console.py",
        "                    if visit.visitor.is_over():\n",
        "                    if False:\n",
        RIGHTS + "::test_a_login_ends_with_its_password_and_ends_streams",
    ),
    bug(
        "a login of the console outlives its password",
        "console/visit.py",
        " and gate.proof(login.session) == login.proof:",
        ":",
        RIGHTS + "::test_a_login_ends_with_its_password_and_ends_streams",
    ),
    bug(
        "deep JSON at the login is a fault of ours",
        "console/answers.py",
        "    except (ValueError, RecursionError):",
        "    except ValueError:",
        RIGHTS + "::test_what_strangers_say_at_the_login_is_refused",
    ),
    bug(
        "producers are shown to everybody who sees the topic",
        "console/pages/partition.py",
        '        "producers_all": len(log.producers) if reads else None,',
        '        "producers_all": len(log.producers),',
        RIGHTS + "::test_producers_are_shown_to_those_who_may_read",
    ),
    bug(
        "a login of the console outlives its token",
        "console/visit.py",
        " and not login.session.is_over(now)",
        "",
        WAYS_IN + "::test_a_login_ends_with_its_token_and_ends_streams",
    ),
    bug(
        "the console takes no token in its form",
        "console/answers.py",
        '    if said.get("token"):\n',
        "    if False:\n",
        WAYS_IN + "::test_a_token_shows_what_its_user_may_see",
    ),
    bug(
        "who shows a certificate is nobody in particular",
        "console/link.py",
        "link.getpeercert(binary_form=True) if link is not None else None",
        "None",
        WAYS_IN + "::test_a_certificate_shows_what_its_user_may_see",
    ),
    bug(
        "what is typed is gone when the page is drawn again",
        "console/static/parts/bits.js",
        "(box.current.value = value), [value]);",
        "(box.current.value = value));",
        "tests/console/test_browser.py::test_what_is_typed_stays_when_the_page_is_drawn_again",
    ),
    bug(
        "more pages are followed than may be, if all are asked for at once",
        "console/console.py",
        "            await anext(stream)  # From here on it has a place, which it gives back when it is closed.\n",
        "",
        AT_ONCE,
    ),
    bug(
        "a search holds as much as its records have",
        "console/search.py",
        " or size >= wanted.rows_size_max:",
        ":",
        BOUNDS + "::test_what_a_partition_s_rows_hold_is_bounded",
    ),
    bug(
        "a list of records is as large as they are",
        "console/scan.py",
        "    while len(rows) < rows_max and shown_size < ROWS_SIZE_MAX:\n",
        "    while len(rows) < rows_max:\n",
        BOUNDS + "::test_a_search_is_cut_by_the_size_of_its_rows_and_goes_on",
    ),
    bug(
        "members of a group are shown with names of any length",
        "console/pages/groups.py",
        '            "client": each.client_id[:_NAME_MAX],\n',
        '            "client": each.client_id,\n',
        BOUNDS + "::test_members_with_long_names_are_cut",
    ),
    bug(
        "answers of the console may be framed and guessed at",
        "console/link.py",
        "*sized, *kept, *SAFE, *answer.headers]",
        "*sized, *kept, *answer.headers]",
        HEADERS + "::test_every_route_keeps_other_sites_away",
    ),
    bug(
        "a change may come as a form",
        "console/answers.py",
        '    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":\n',
        "    if False:\n",
        HEADERS + "::test_every_post_is_json_from_a_page_of_ours",
    ),
]
