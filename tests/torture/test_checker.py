"""The checker of the torture test: a good history passes, and one that breaks a rule is found out by that rule."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from tests.torture.checker import RULES, check, main
from tests.torture.history import Event, History, read_histories
from tests.torture.story import good_story

Mutation = Callable[[list[Event]], None]
MUTATIONS: dict[str, list[Mutation]] = {}


def breaks(rule: str) -> Callable[[Mutation], Mutation]:
    """Marks a mutation of the good history as one that this rule must find."""

    def mark(mutation: Mutation) -> Mutation:
        MUTATIONS.setdefault(rule, []).append(mutation)
        return mutation

    return mark


def of(events: list[Event], op: str, **facts: Any) -> Iterator[Event]:
    """Events of one op with these facts."""
    return (each for each in events if each["op"] == op and all(each.get(key) == facts[key] for key in facts))


def drop(read: Event, at: int) -> None:
    """Leave one record out of a read."""
    del read["offsets"][at], read["values"][at]


@breaks("lost")
def an_acked_record_is_nowhere(events: list[Event]) -> None:
    for read in of(events, "read", topic="one"):
        if 0 in read["offsets"]:
            drop(read, read["offsets"].index(0))


@breaks("lost")
def what_was_called_a_duplicate_is_nowhere(events: list[Event]) -> None:
    a_duplicate_without_an_offset(events)
    an_acked_record_is_nowhere(events)


def a_duplicate_without_an_offset(events: list[Event]) -> None:
    """The first record is acknowledged as one that is there already."""
    next(of(events, "send", kind="ok", topic="one"))["acks"][0][2] = -1


def test_a_duplicate_may_be_anywhere() -> None:
    """K4: it is acknowledged without its offset."""
    events = deepcopy(good_story())
    a_duplicate_without_an_offset(events)
    assert check(events) == []


@breaks("lost")
def it_is_gone_at_the_second_look(events: list[Event]) -> None:
    drop(next(of(events, "read", topic="one", final=2, committed=False)), 4)


@breaks("lost")
def it_is_gone_above_the_log_start(events: list[Event]) -> None:
    for read in of(events, "read", topic="short", final=1):
        drop(read, -1)


@breaks("lost")
def the_last_of_a_key_is_compacted_away(events: list[Event]) -> None:
    for read in of(events, "read", topic="keys"):
        drop(read, -1)


@breaks("lost")
def memory_forgets_although_nobody_died(events: list[Event]) -> None:
    for event in of(events, "broker", event="killed"):
        event["event"] = "stopped"


@breaks("lost")
def a_new_topic_loses(events: list[Event]) -> None:
    drop(next(of(events, "read", topic="phoenix", final=1)), 0)


def a_reading_stops_half_way(events: list[Event], *, committed: bool) -> None:
    """The first reading of everything did not reach the ends of two topics, and told so."""
    for topic in ("one", "txn"):
        read = next(of(events, "read", topic=topic, final=1, committed=committed))
        del read["offsets"][2:], read["values"][2:]
    told = {"reader": "final-1", "places": [["one", 0], ["txn", 0]], "committed": committed, "final": 1}
    events.append({"at": events[-1]["at"], "who": "house", "kind": "info", "op": "unread", **told})


@breaks("unfinished")
def a_reading_of_everything_stops_half_way(events: list[Event]) -> None:
    a_reading_stops_half_way(events, committed=False)


@pytest.mark.parametrize("committed", [False, True])
def test_an_unfinished_reading_is_no_loss(committed: bool) -> None:
    """A8: it is told as what it is, and nothing is called lost, torn, uncopied or unmirrored for it."""
    events = deepcopy(good_story())
    a_reading_stops_half_way(events, committed=committed)
    assert {problem.rule for problem in check(events)} == {"unfinished"}


@pytest.mark.parametrize("committed", [False, True])
def test_a_reading_that_claims_its_end_is_believed(committed: bool) -> None:
    """A8: without the word that it did not reach its end, what it has not read is not there."""
    events = deepcopy(good_story())
    a_reading_stops_half_way(events, committed=committed)
    del events[-1]
    assert {"lost", "torn"} & {problem.rule for problem in check(events)}


@breaks("stuck")
def a_producer_waits_though_nothing_disturbs(events: list[Event]) -> None:
    next(of(events, "breather"))["stuck"] = ["idem"]


@breaks("pinned")
def the_log_does_not_let_go(events: list[Event]) -> None:
    next(of(events, "idle"))["entries"] = 10


@breaks("vanished")
def what_a_fenced_broker_acknowledged_is_nowhere(events: list[Event]) -> None:
    next(of(events, "duel"))["kept"] = {}


@breaks("vanished")
def what_the_owner_acknowledged_is_not_there(events: list[Event]) -> None:
    next(of(events, "duel"))["log"].pop()


@breaks("usurped")
def a_broker_acknowledges_after_it_was_suspended(events: list[Event]) -> None:
    next(of(events, "duel"))["acks"][1][2] = 4.1


@breaks("usurped")
def a_broker_acknowledges_long_after_another_has_come(events: list[Event]) -> None:
    duel = next(of(events, "duel"))
    duel["resumed"], duel["acks"][1][2] = {}, 6.1


@breaks("silent")
def two_brokers_serve_one_store(events: list[Event]) -> None:
    next(of(events, "duel"))["silent"] = ["a"]


@breaks("rewritten")
def an_offset_is_given_again_in_the_same_epoch(events: list[Event]) -> None:
    next(of(events, "duel"))["log"][1][2] = 1


@breaks("doubled")
def an_idempotent_record_is_there_twice(events: list[Event]) -> None:
    for read in of(events, "read", topic="one", final=1):
        read["offsets"].append(13)
        read["values"].append(read["values"][0])


@breaks("disorder")
def two_records_of_a_producer_change_places(events: list[Event]) -> None:
    for read in of(events, "read", topic="one"):
        if read["offsets"][0] == 0:
            read["values"][0], read["values"][1] = read["values"][1], read["values"][0]


@breaks("disorder")
def a_plain_record_comes_before_one_that_was_acked_before_it_was_sent(events: list[Event]) -> None:
    for read in of(events, "read", topic="one"):
        if read["offsets"][0] == 0:
            read["values"][3], read["values"][8] = read["values"][8], read["values"][3]


@breaks("disorder")
def one_request_in_flight_and_still_a_record_comes_late(events: list[Event]) -> None:
    swap_in_one_send(events, "row")


def swap_in_one_send(events: list[Event], topic: str) -> None:
    """The last two records of one burst change places."""
    for read in of(events, "read", topic=topic, final=1):
        read["values"][-1], read["values"][-2] = read["values"][-2], read["values"][-1]


@breaks("unseen")
def the_watermark_lags_behind_an_ack(events: list[Event]) -> None:
    for marks in list(of(events, "marks", topic="one"))[:1]:
        marks["high"] -= 1


@breaks("aborted")
def an_aborted_record_is_seen(events: list[Event]) -> None:
    read = next(of(events, "read", who="careful"))
    read["offsets"].insert(4, 5)
    read["values"].insert(4, "trans:4:1:")


@breaks("undecided")
def a_record_is_seen_before_its_end(events: list[Event]) -> None:
    for event in list(of(events, "commit", txn=2)):
        events.remove(event)


@breaks("torn")
def half_a_transaction_is_there(events: list[Event]) -> None:
    for read in of(events, "read", topic="txn", committed=True, final=1):
        drop(read, 0)


@breaks("torn")
def a_committed_transaction_is_not_there_at_all(events: list[Event]) -> None:
    for read in of(events, "read", topic="txn", committed=True, final=2):
        del read["offsets"][:4], read["values"][:4]


@breaks("uncopied")
def an_offset_is_committed_without_its_copy(events: list[Event]) -> None:
    next(of(events, "group", kind="ok", group="copier"))["offsets"][0][2] = 6


@breaks("uncopied")
def a_copy_is_committed_without_its_offset(events: list[Event]) -> None:
    next(of(events, "group", kind="ok", group="copier"))["offsets"][0][2] = 4


@breaks("doubled")
def a_record_is_committed_twice(events: list[Event]) -> None:
    for read in of(events, "read", topic="copies", committed=True):
        read["offsets"].append(20)
        read["values"].append("copier-0:0:0:")


@breaks("group_back")
def a_group_finds_less_than_it_committed(events: list[Event]) -> None:
    list(of(events, "group", kind="ok", polled=True))[-1]["offsets"][0][2] = 11


@breaks("position_back")
def a_reader_is_set_back(events: list[Event]) -> None:
    read = list(of(events, "read", who="member"))[-1]
    read["offsets"].insert(0, 9)
    read["values"].insert(0, "plain:3:-:")


@breaks("marks_back")
def the_log_start_goes_back(events: list[Event]) -> None:
    next(of(events, "marks", topic="short"))["low"] = 5


@breaks("marks_back")
def the_high_watermark_goes_back(events: list[Event]) -> None:
    next(of(events, "marks", topic="one"))["high"] = 100


@breaks("future")
def a_record_is_read_that_nobody_sent(events: list[Event]) -> None:
    next(of(events, "read", who="late"))["values"][0] = "nobody:1:-:"


@breaks("future")
def a_record_is_read_before_it_was_sent(events: list[Event]) -> None:
    next(of(events, "read", who="member"))["at"] = 0.5


@breaks("future")
def a_record_is_read_from_another_topic(events: list[Event]) -> None:
    next(of(events, "read", who="late"))["values"][0] = "idem:0:-:"


@breaks("changed")
def an_offset_shows_another_record_later(events: list[Event]) -> None:
    next(of(events, "read", who="late"))["values"][0] = "plain:3:-:"


@breaks("hidden")
def a_reader_is_led_past_a_record(events: list[Event]) -> None:
    drop(next(of(events, "read", who="member")), 5)


@breaks("hidden")
def a_gap_between_two_reads(events: list[Event]) -> None:
    drop(list(of(events, "read", who="member"))[-1], 0)


@breaks("skipped")
def a_group_commits_what_no_member_read(events: list[Event]) -> None:
    drop(list(of(events, "read", who="member"))[-1], -1)


@breaks("unmirrored")
def a_stream_has_left_a_record_out(events: list[Event]) -> None:
    drop(next(of(events, "mirror", by="spark")), 3)


@breaks("unmirrored")
def a_stream_has_written_a_record_twice(events: list[Event]) -> None:
    mirror = next(of(events, "mirror", by="spark"))
    for column in ("offsets", "values"):
        mirror[column].insert(3, mirror[column][3])


@breaks("unmirrored")
def a_stream_shows_an_aborted_record(events: list[Event]) -> None:
    next(of(events, "mirror", by="sync"))["values"].insert(4, "trans:4:1:")


@breaks("unmirrored")
def a_sync_changes_the_order(events: list[Event]) -> None:
    next(of(events, "mirror", by="sync"))["values"].reverse()


@breaks("unmirrored")
def a_stream_tells_other_offsets(events: list[Event]) -> None:
    next(of(events, "mirror", by="spark"))["offsets"][-1] += 1


@breaks("undead")
def a_deleted_record_is_seen_again(events: list[Event]) -> None:
    read = next(of(events, "read", who="late"))
    read["offsets"].insert(0, 3)
    read["values"].insert(0, "plain:9:-:")


@breaks("reborn")
def a_new_topic_shows_the_old_ones_records(events: list[Event]) -> None:
    next(of(events, "read", who="fresh"))["values"][0] = "old:0:-:"


@breaks("unexpected")
def the_broker_ends_by_itself(events: list[Event]) -> None:
    next(of(events, "broker", event="killed"))["expected"] = False


@breaks("unexpected")
def the_broker_complains(events: list[Event]) -> None:
    events.append({"at": 1e6, "who": "house", "kind": "info", "op": "said", "line": "Traceback"})


@breaks("memory")
def memory_grows(events: list[Event]) -> None:
    next(of(events, "sample"))["rss"] = 2000


@breaks("handles")
def too_many_handles(events: list[Event]) -> None:
    next(of(events, "sample"))["handles"] = 200


@breaks("handles")
def files_stay_open(events: list[Event]) -> None:
    for sample in of(events, "sample"):
        sample["connections"] = 5


@breaks("growing")
def memory_leaks_below_the_limit(events: list[Event]) -> None:
    for at, sample in enumerate(of(events, "sample", rss=600)):
        sample["rss"] += at


@breaks("growing")
def connections_leak_below_the_limit(events: list[Event]) -> None:
    for at, sample in enumerate(of(events, "sample", rss=600)):
        sample["handles"] = 50 + at // 5
        sample["connections"] = 30


def test_a_good_history_passes() -> None:
    """A8, K4: the checker has nothing against a log that does everything right."""
    assert check(good_story()) == []


CASES = [(rule, mutation) for rule, mutations in MUTATIONS.items() for mutation in mutations]


@pytest.mark.parametrize(("rule", "mutation"), CASES, ids=[f"{rule}-{each.__name__}" for rule, each in CASES])
def test_a_broken_rule_is_found(rule: str, mutation: Mutation) -> None:
    """A8, K4: each way to break a promise is found by the rule that is there for it."""
    events = deepcopy(good_story())
    mutation(events)
    assert rule in {problem.rule for problem in check(events)}


def test_plain_records_may_pass_one_another() -> None:
    """A8: with more than one request in flight the order within a burst is the client's own affair."""
    events = deepcopy(good_story())
    next(of(events, "producer", producer="single"))["in_flight"] = 5
    swap_in_one_send(events, "row")
    assert "disorder" not in {problem.rule for problem in check(events)}


def test_a_record_that_was_given_up_may_come_late() -> None:
    """A8: what a plain producer was told has failed may still be on its way, and is in nobody's order."""
    events = deepcopy(good_story())
    for told in of(events, "send", kind="ok", topic="row"):
        told["acks"] = told["acks"][-1:]
    for read in of(events, "read", topic="row"):
        read["values"].append(read["values"].pop(0))
    assert "disorder" not in {problem.rule for problem in check(events)}


def test_a_deletion_without_an_answer_may_be_done_later() -> None:
    """A8: records of a topic may be gone if they were sent before its deletion was known to be over, and only then."""
    events = deepcopy(good_story())
    done = next(of(events, "delete_topic", kind="ok"))
    done.update(kind="fail", asked=True)
    for read in of(events, "read", topic="phoenix", final=1):
        drop(read, 0)
    assert "lost" not in {problem.rule for problem in check(events)}
    done["asked"] = False
    assert "lost" in {problem.rule for problem in check(events)}


@pytest.mark.parametrize(("hears_s", "lost"), [(60.0, set()), (1.0, {"lost"})])
def test_a_broker_of_several_may_hear_of_a_deletion_later(hears_s: float, lost: set[str]) -> None:
    """C8: until then it takes records that are gone with the topic; no longer."""
    events = deepcopy(good_story())
    next(of(events, "limits"))["hears_s"] = hears_s
    for read in of(events, "read", topic="phoenix"):
        if "final" in read:
            drop(read, 0)
    assert {problem.rule for problem in check(events)} & {"lost"} == lost


def test_every_rule_can_fail() -> None:
    """A8: no rule is there that no history breaks."""
    assert {rule.__name__ for rule in RULES} == set(MUTATIONS)


def test_memory_may_be_forgotten_by_a_kill_only() -> None:
    """A2: what is lost of a topic in memory is excused by the kill that came after its ack."""
    events = deepcopy(good_story())
    next(of(events, "topic", name="light"))["like"] = "kept"
    assert "lost" in {problem.rule for problem in check(events)}, "the good history does lose it"


def test_no_history_is_no_good_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A8: a folder that is misspelt, or empty, must not pass."""
    for folder in (tmp_path / "absent", tmp_path):
        assert main([str(folder)]) == 2
        assert f"{folder} holds no histories" in capsys.readouterr().err


def test_histories_are_read_back_in_time(tmp_path: Any) -> None:
    """A8: what clients write down is what the checker reads; half a line at the end is left out."""
    first, second = History(tmp_path, "first"), History(tmp_path, "second")
    for number in range(5):
        (first, second)[number % 2].info("sample", rss=number)
    first.close()
    second.close()
    with (tmp_path / "first.jsonl").open("a") as file:
        file.write('{"at": 1')
    assert [event["rss"] for event in read_histories(tmp_path)] == list(range(5))
