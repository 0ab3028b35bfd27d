"""Known ways to go wrong in the one client, and in the commands that use it."""

from __future__ import annotations

from tests.bugs.bug import Bug, Edit

NAMED = "tests/client/test_named_broker.py"
SETTINGS = "tests/client/test_settings.py"
SILENT = "tests/client/test_client.py::test_a_broker_that_takes_connections_and_says_nothing_is_in_nobodys_way"

PAIR = "tests/cluster/test_pair.py"
FLUSH = "tests/cluster/test_many_stores.py::test_a_flush_is_asked_of_every_leader"

BUGS = [
    Bug(
        "client: a flush is asked of one broker for all partitions",
        (Edit("client/admin/topics.py", "nodes.by_leader(left).items()", "{nodes.any(): left}.items()"),),
        (FLUSH,),
    ),
    Bug(
        "client: a flush gives up where a leader is away",
        (
            Edit(
                "client/client.py",
                "        self._try(lambda: topics.flush_topic(self._nodes, topic, done))\n",
                "        topics.flush_topic(self._nodes, topic, done)\n",
            ),
        ),
        (FLUSH,),
    ),
    Bug(
        "a flush is answered for partitions that others lead",
        (
            Edit(
                "broker/api/alter_configs.py",
                "        except LedElsewhere as failure:\n            raise Fenced(",
                "        except LedElsewhere as failure:\n            continue\n            raise Fenced(",
            ),
        ),
        (FLUSH,),
    ),
    Bug(
        "a flush of some partitions is one of none",
        (Edit("broker/api/alter_configs.py", "for number in () if validate_only else numbers:", "for number in ():"),),
        (FLUSH,),
    ),
    Bug(
        "client: a broker that takes connections and says nothing is in the way of the others",
        (Edit("client/nodes.py", "                if len(addresses) == 1:\n", "                if True:\n"),),
        (SILENT,),
    ),
    Bug(
        "client: whoever said nothing is waited for again before the others",
        (Edit("client/nodes.py", "sorted(addresses, key=self._is_silent)", "addresses"),),
        (SILENT,),
    ),
    Bug(
        "a producer's id is asked of whoever answers, also of those who give none",
        (Edit("client/transactions.py", "nodes.controller() if transactional_id is None", "nodes.any() if True"),),
        (f"{PAIR}::test_who_does_not_answer_is_named_and_nobody_else",),
    ),
    Bug(
        "a topic is to be made by a broker that does not lead",
        (Edit("client/nodes.py", "if not create or len(self.metadata([]).brokers) == 1:", "if True:"),),
        (f"{PAIR}::test_clients_hear_of_all_brokers_from_each_of_them",),
    ),
    Bug(
        "a leader that has not heard of a new topic is believed that there is none",
        (Edit("client/producing.py", "soon(each.error_code) if is_new else each.error_code", "each.error_code"),),
        ("tests/cluster/test_workers.py::test_our_own_client_writes_to_a_topic_that_it_has_just_made",),
    ),
    Bug(
        "whoever has made a topic is told that there is none",
        (Edit("client/client.py", "            self._new.add(name)\n", "            pass\n"),),
        ("tests/cluster/test_workers.py::test_our_own_client_writes_to_a_topic_that_it_has_just_made",),
    ),
    Bug(
        "a command follows the addresses that a broker tells to others",
        (Edit("cli/terminal/broker.py", "follow_leaders=False, patience_s=0)", "patience_s=0)"),),
        ("tests/cli/test_consume.py::test_a_broker_behind_a_tunnel_is_read",),
    ),
    Bug(
        "the coordinator is looked for where the broker says",
        (
            Edit(
                "client/nodes.py",
                "return self._the_one() or super().coordinator(kind, key)",
                "return super().coordinator(kind, key)",
            ),
        ),
        (f"{NAMED}::test_the_broker_that_was_named_is_asked_for_everything",),
    ),
    Bug(
        "a word that nobody knows is left out of the client's settings",
        (Edit("client/settings.py", "                raise UnknownWord(word, WORDS)\n", "                continue\n"),),
        (f"{SETTINGS}::test_what_nobody_knows_is_refused",),
    ),
    Bug(
        "Spark's sink keeps only a text of where the brokers are",
        (Edit("spark/sink/options.py", "kafka=kafka or _kafka(lower)", "kafka=ClientSettings(())"),),
        (f"{SETTINGS}::test_every_tool_makes_the_same_of_it",),
    ),
    Bug(
        "every try is told, not the wait",
        (Edit("client/retry.py", " and not has_told", ""),),
        (f"{NAMED}::test_why_one_waits_is_told_once",),
    ),
    Bug(
        "an offset that is gone ends the reader",
        (Edit("client/codes.py", "code == Code.OFFSET_OUT_OF_RANGE", "False"),),
        (f"{NAMED}::test_an_offset_that_is_not_there_is_told_apart",),
    ),
    Bug(
        "Ctrl-C is taken for a lost connection",
        (
            Edit(
                "client/connection.py",
                "version, frame)\n        except OSError as failure:",
                "version, frame)\n        except (OSError, KeyboardInterrupt) as failure:",
            ),
        ),
        ("tests/cli/test_consume.py::test_ctrl_c_ends_a_wait_for_records",),
    ),
    Bug(
        "Ctrl-C cuts off what was half done",
        (Edit("cli/terminal/interrupt.py", "if self._waits or self._heard:", "if True:"),),
        ("tests/cli/test_interrupt.py::test_what_is_no_wait_is_finished_first",),
    ),
    Bug(
        "quiet on stdin is taken for its end",
        (Edit("cli/produce/lines.py", '(data := read(_READ_SIZE)) != b""', "data := read(_READ_SIZE)"),),
        ("tests/cli/test_produce.py::test_a_pipe_that_does_not_wait_has_not_ended",),
    ),
]
