"""Known ways in which clients can take what all others need."""

from __future__ import annotations

from tests.bugs.bug import Bug, Edit

BUDGETS = "tests/hostile/test_budgets.py"
DOORS = "tests/hostile/test_doors.py"
TABLES = "tests/hostile/test_tables.py"

BUGS = [
    Bug(
        "a long name in a line is tried from each of its characters",
        (Edit("cli/serve/redact.py", 'r"(?<![a-z0-9_.-])([a-z0-9_.-]++)[', 'r"([a-z0-9_.-]+)['),),
        ("tests/operate/test_lines.py::test_a_line_that_a_client_has_made_long_costs_little",),
    ),
    Bug(
        "announced bytes take room",
        (
            Edit(
                "broker/net/frames.py", "return self._filled or len(self._head)", "return self._size or len(self._head)"
            ),
        ),
        (f"{BUDGETS}::test_what_is_only_announced_takes_no_room",),
    ),
    Bug(
        "requests that stop half-way keep their room",
        (
            Edit(
                "broker/net/server.py",
                "[each for each in self._granted if each.is_stalled(now, _PRESSED_S)]",
                "list[Connection]()",
            ),
        ),
        (f"{BUDGETS}::test_requests_that_stop_half_way_give_way_to_others",),
    ),
    Bug(
        "a byte now and then keeps a request alive",
        (
            Edit("broker/net/connection.py", "now - self._began_at > whole_s or ", ""),
            Edit("broker/net/connection.py", ">= PROGRESS_SIZE:", "> 0:"),
        ),
        (f"{BUDGETS}::test_a_request_has_to_arrive_as_a_whole",),
    ),
    Bug(
        "fetches do not look at what all answers hold",
        (
            Edit("broker/api/fetch.py", "            await answers.room()\n", "            pass\n"),
            Edit("broker/api/fetch.py", "return min(left, answers.left // _SHARE)", "return left"),
        ),
        (f"{BUDGETS}::test_answers_that_nobody_takes_are_bounded_and_given_up",),
    ),
    Bug(
        "unread answers are not given up when others wait",
        (
            Edit(
                "broker/net/server.py",
                "[each for each in self.sending if each.takes_nothing(now, _PRESSED_S)]",
                "list[Connection]()",
            ),
        ),
        (f"{BUDGETS}::test_answers_that_nobody_takes_are_bounded_and_given_up",),
    ),
    Bug(
        "an idle connection waits for its answers to be read",
        (
            Edit(
                "broker/net/connection.py",
                "        if self.untaken:\n            self.abort()\n        elif",
                "        if",
            ),
        ),
        (f"{BUDGETS}::test_the_idle_limit_takes_back_answers_that_nobody_reads",),
    ),
    Bug(
        "answers have no deadline",
        (
            Edit(
                "broker/net/server.py",
                "[each for each in self.sending if each.takes_nothing(now, take_s)]",
                "list[Connection]()",
            ),
        ),
        (f"{BUDGETS}::test_answers_that_are_not_taken_have_a_deadline",),
    ),
    Bug(
        "one address takes all connections",
        (Edit("io/accept.py", "if self._open[host] >= self.limits.of(host):", "if False:"),),
        (f"{DOORS}::test_one_address_may_have_so_many_connections",),
    ),
    Bug(
        "connections come in as fast as they like",
        (Edit("io/accept.py", "if not self._take_turn():", "if False:"),),
        (f"{DOORS}::test_new_connections_come_in_at_a_rate",),
    ),
    Bug(
        "without descriptors the loop spins",
        (
            Edit(
                "io/accept.py",
                "            bound.accept()[0].close()\n        except OSError:",
                "            pass\n        except OSError:",
            ),
        ),
        (f"{DOORS}::test_without_descriptors_the_broker_neither_spins_nor_shouts",),
    ),
    Bug(
        "a client writes log lines of its own",
        (Edit("cli/serve/lines.py", "{one_line(record.getMessage())}", "{record.getMessage()}"),),
        (f"{DOORS}::test_what_clients_say_cannot_make_a_log_line",),
    ),
    Bug(
        "slow scrapes are scrapes",
        (Edit("metrics/endpoint.py", "if self._scrapes >= _SCRAPES_MAX:", "if len(self._tasks) > _SCRAPES_MAX:"),),
        (f"{DOORS}::test_slow_scrapes_lock_nobody_out",),
    ),
    Bug(
        "a full table of groups stays full",
        (Edit("coordinator/group/shards.py", "            await self._make_room()\n", ""),),
        (f"{TABLES}::test_a_flood_of_groups_gives_way",),
    ),
    Bug(
        "groups with offsets make room",
        (Edit("coordinator/group/shard.py", " and hosted.offsets.is_unused and self", " and self"),),
        (f"{TABLES}::test_a_flood_of_groups_gives_way",),
    ),
    Bug(
        "a full table of transactional ids stays full",
        (Edit("coordinator/transaction/coordinator.py", "            self._make_room()\n", "            pass\n"),),
        (f"{TABLES}::test_a_flood_of_transactional_ids_gives_way",),
    ),
    Bug(
        "transactional ids that were used make room",
        (
            Edit(
                "coordinator/transaction/coordinator.py",
                "state is TransactionState.EMPTY and 0 <",
                "state.is_idle and 0 <",
            ),
        ),
        (f"{TABLES}::test_a_flood_of_transactional_ids_gives_way",),
    ),
    Bug(
        "strings are as long as a frame",
        (Edit("protocol/wire.py", "if end - start > STRING_SIZE_MAX:", "if False:"),),
        (f"{TABLES}::test_a_user_name_of_megabytes_closes_the_connection",),
    ),
    Bug(
        "the metadata grows with every topic",
        (Edit("broker/topics.py", "        self.check_size(size_of(name, configs))\n", ""),),
        (f"{TABLES}::test_quotas_and_topics_have_limits",),
    ),
    Bug(
        "a broker has any number of partitions",
        (Edit("broker/topic_limits.py", "if self._partitions + more > self._partitions_max:", "if False:"),),
        (f"{TABLES}::test_a_broker_has_so_many_partitions",),
    ),
    Bug(
        "configs are as long as a request",
        (Edit("broker/configs/topic.py", "    if size > SIZE_MAX:", "    if False:"),),
        (f"{TABLES}::test_the_configs_of_a_topic_have_a_limit",),
    ),
    Bug(
        "each subscription has a memory of its own",
        (Edit("subscribe/server/stream.py", "self._share = Share(site.memory)", "self._share = Share()"),),
        ("tests/hostile/test_subscriptions.py",),
    ),
    Bug(
        "a subscription that is cancelled twice keeps its memory",
        (
            Edit(
                "subscribe/server/stream.py",
                "            try:\n                await self._crew.stop()\n            finally:"
                "  # Also when the stream is cancelled once more meanwhile.\n                self._share.close()\n",
                "            await self._crew.stop()\n            self._share.close()\n",
            ),
        ),
        ("tests/hostile/test_subscriptions.py::test_a_subscription_that_is_cancelled_twice_keeps_no_memory",),
    ),
    Bug(
        "subscriptions read ahead although nothing is left",
        (Edit("subscribe/merge/memory.py", "return size <= self._memory.left // _PART", "return True"),),
        ("tests/hostile/test_subscriptions.py",),
    ),
]
