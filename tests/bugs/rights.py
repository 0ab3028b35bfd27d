"""Known ways to let somebody do what they may not."""

from __future__ import annotations

from tests.bugs.bug import Bug, Edit

RIGHTS = "tests/broker/test_rights.py"
AUDIT = "tests/broker/test_audit.py"


def bug(name: str, file: str, old: str, new: str, *tests: str) -> Bug:
    return Bug(f"rights: {name}", (Edit(file, old, new),), tests)


BUGS = [
    bug(
        "a verdict outlives the rules",
        "broker/guard/gate.py",
        "            self._verdicts = {}\n        return rules",
        "        return rules",
        RIGHTS + "::test_a_rule_counts_at_once_on_connections_that_are_open",
    ),
    bug(
        "verdicts of another user are taken",
        "broker/guard/gate.py",
        "asked = (right, session.principal.name, session.host, name)",
        'asked = (right, "", session.host, name)',
        RIGHTS + "::test_hosts_denials_and_everybody",
    ),
    bug(
        "a changed rule is looked up only when others look",
        "broker/guard/users.py",
        "            finally:\n                await self._look_up_anew()",
        "            finally:\n                pass",
        RIGHTS + "::test_a_rule_counts_at_once_on_connections_that_are_open",
    ),
    bug(
        "whole requests are not asked about",
        "broker/broker.py",
        "if row.first is not None and not rights.may(row.first):",
        "if False:",
        RIGHTS + "::test_without_rights_nothing_is_told_and_nothing_done",
    ),
    bug(
        "an API without a row serves",
        "broker/guard/rights.py",
        "    Key.DELETE_GROUPS: _each(DELETE_GROUP),\n",
        "",
        RIGHTS + "::test_what_is_served_has_a_row_and_the_other_way_round",
    ),
    bug(
        "Metadata keeps the bytes of another user",
        "broker/api/metadata.py",
        "        return _kept(context, opened, version, operations)",
        "        return opened.kept.get((version, 0)) or opened.kept.setdefault(\n"
        "            (version, 0), _kept(context, opened, version, operations)\n"
        "        )",
        RIGHTS + "::test_operations_are_those_of_whoever_asks",
    ),
    bug(
        "a hidden topic has its id told",
        "broker/api/metadata.py",
        "    if not rights.may(DESCRIBE_TOPIC, wanted.name):  # Whether it is there or not.\n"
        "        return Code.TOPIC_AUTHORIZATION_FAILED\n"
        "    found = context.topics.find(wanted.name)\n",
        "    found = context.topics.find(wanted.name)\n"
        "    if found is not None and not rights.may(DESCRIBE_TOPIC, wanted.name):\n"
        "        return Code.TOPIC_AUTHORIZATION_FAILED\n",
        RIGHTS + "::test_what_may_not_be_described_is_left_out_and_not_told_apart_from_nothing",
    ),
    bug(
        "a topic is made by naming it without the right to",
        "broker/api/metadata.py",
        "        if not rights.sees(CREATE_CLUSTER) and not rights.may(CREATE_TOPIC, wanted.name):",
        "        if False:",
        RIGHTS + "::test_a_topic_is_made_by_naming_it_only_with_the_right_to",
    ),
    bug(
        "a fetch session is anybody's",
        "broker/fetch/sessions.py",
        "        if session is None or session.owner != owner:\n            raise",
        "        if session is None:\n            raise",
        RIGHTS + "::test_a_fetch_session_is_its_users_alone",
    ),
    bug(
        "a fetch session is ended by anybody",
        "broker/fetch/sessions.py",
        "        if session is not None and session.owner == owner:",
        "        if session is not None:",
        RIGHTS + "::test_a_fetch_session_is_its_users_alone",
    ),
    bug(
        "a fetch that waits is not asked about again",
        "broker/api/fetch.py",
        "        if self._fetch.is_refused(self._sender, key[0]):\n",
        "        if not self._answers and self._fetch.is_refused(self._sender, key[0]):\n",
        RIGHTS + "::test_records_that_come_after_a_right_was_taken_are_not_sent",
    ),
    bug(
        "a partition at its end is not asked about again",
        "broker/fetch/sessions.py",
        "            self.watch.moved.update(dict.fromkeys(self.wanted))",
        "            pass",
        RIGHTS + "::test_a_rule_counts_at_once_on_connections_that_are_open",
    ),
    bug(
        "transactional batches without an id are taken",
        "broker/api/produce.py",
        "        if header.is_transactional and self._message.transactional_id is None:\n",
        "        if False:\n",
        RIGHTS + "::test_a_transaction_is_its_users_alone",
    ),
    bug(
        "the transactional id is not asked about",
        "broker/api/produce.py",
        "        if transactional_id is not None:\n            self._need(",
        "        if False:\n            self._need(",
        RIGHTS + "::test_a_transaction_is_its_users_alone",
    ),
    bug(
        "groups are shown to everybody",
        "broker/api/list_groups.py",
        "        if sees_all or rights.sees(DESCRIBE_GROUP, each.group_id)\n",
        "",
        RIGHTS + "::test_groups_and_transactions_that_may_not_be_described_are_left_out",
    ),
    bug(
        "a topic that may not be written by its id is named",
        "broker/api/produce.py",
        "called=topic.name or str(topic.topic_id))",
        "called=name)",
        RIGHTS + "::test_a_topic_that_is_written_by_its_id_keeps_its_name_to_itself",
    ),
    bug(
        "a topic that may not be deleted is named",
        "broker/api/topics.py",
        "shown = found.topic.name if rights.sees(DESCRIBE_TOPIC, found.topic.name) else None",
        "shown = found.topic.name",
        RIGHTS + "::test_a_topic_that_is_deleted_by_its_id_keeps_its_name_to_itself",
    ),
    bug(
        "a refusal that is repeated floods the audit log",
        "broker/guard/audit.py",
        "        if now - written < _AGAIN_S:",
        "        if False:",
        AUDIT + "::test_a_refusal_is_told_with_who_from_where_what_and_why",
    ),
    bug(
        "refusals are told to nobody",
        "broker/guard/gate.py",
        "            self.audit.refused(session, right, name, api, self._by(session, right, name))\n",
        "",
        AUDIT + "::test_a_refusal_is_told_with_who_from_where_what_and_why",
    ),
    bug(
        "the values of configs are in the audit log",
        "broker/api/alter_configs.py",
        '", ".join(one.name for one in each.configs)',
        '", ".join(f"{one.name}={one.value}" for one in each.configs)',
        AUDIT + "::test_changes_of_users_rules_quotas_and_configs_are_told",
    ),
    bug(
        "a pattern of a group matches every topic",
        "broker/api/consumer_group_heartbeat.py",
        "sight = _sight(request) if context.gate.is_on else None",
        "sight = None",
        RIGHTS + "::test_a_pattern_of_a_group_matches_only_what_may_be_described",
    ),
    bug(
        "groups do not hear of changed rules",
        "broker/coordinators.py",
        "        users.on_rules.append(self._grow)\n",
        "        del users\n",
        RIGHTS + "::test_a_pattern_of_a_group_matches_only_what_may_be_described",
    ),
    bug(
        "a pattern matches by the rights of another member",
        "coordinator/group/consumer/core.py",
        "key = member.regex, sight",
        "key = member.regex, next(iter(self._sights.values()))",
        "tests/coordinator/test_consumer_group.py::test_a_pattern_matches_what_its_member_may_know_of",
    ),
    bug(
        "without the store everybody is told which topics there are",
        "broker/waiting/waiting.py",
        "if api is not None and self._rules is not None and request.session.principal not in self._rules.super_users:",
        "if api is None:",
        "tests/broker/test_waiting.py::test_with_an_authorizer_only_super_users_are_answered",
    ),
    bug(
        "an id is answered with the name it stands for",
        "broker/share/acks.py",
        "rights.need(READ_TOPIC, opened.topic.name, called=str(home.topic_id))",
        "rights.need(READ_TOPIC, opened.topic.name)",
        "tests/broker/test_rights.py::test_a_topic_that_a_share_group_names_by_its_id_keeps_its_name_to_itself",
    ),
]
