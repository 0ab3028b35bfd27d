"""Known bugs of the console."""

from __future__ import annotations

from tests.bugs.bug import Bug, Edit

RIGHTS = "tests/console/test_rights.py"
PAGES = "tests/console/test_pages.py"
CHANGES = "tests/console/test_changes.py"
HTTP = "tests/console/test_http.py"


def bug(name: str, file: str, old: str, new: str, *tests: str) -> Bug:
    return Bug(name, (Edit(file, old, new),), tests)


BUGS = [
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
]
