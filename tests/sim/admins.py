"""Simulated operators and groups: topics made and deleted, offsets committed, members that join and leave."""

from __future__ import annotations

from typing import Any

from tests.sim.broker_life import BrokerLife
from tests.sim.model import TopicModel
from tests.sim.producers import check_refusal

from holdfast.protocol.api import Key
from holdfast.protocol.codes import Code

NAMES = ("t0", "t1", "t2")


class Operator:
    """Makes topics, deletes them, and gives them more partitions."""

    def begin(self) -> None:
        pass

    def act(self, life: BrokerLife) -> None:
        name = life.random.choice(NAMES)
        topic = life.model.named(name)
        if topic is None:
            if name not in life.model.creating:
                count = life.random.choice((1, 2))
                life.model.creating[name] = count
                life.start(self._create(life, name, count))
        elif not topic.leaving and topic.count == topic.count_max:
            if life.random.random() < 0.7:
                topic.leaving = True
                life.start(self._delete(life, topic))
            elif topic.count < 3:
                topic.count_max += 1
                life.start(self._grow(life, topic, topic.count_max))

    async def _create(self, life: BrokerLife, name: str, count: int) -> None:
        topic = {"name": name, "num_partitions": count, "replication_factor": 1, "assignments": [], "configs": []}
        fields = {"topics": [topic], "timeout_ms": 1000, "validate_only": False}
        [made] = (await life.ask(Key.CREATE_TOPICS, 7, fields)).topics
        if made.error_code:
            check_refusal(life, made.error_code, None, f"the creation of {name}")
            return
        life.model.created(name, made.topic_id, count)
        life.counts["topics made"] += 1

    async def _delete(self, life: BrokerLife, topic: TopicModel) -> None:
        fields = {"topics": [{"name": topic.name, "topic_id": None}], "timeout_ms": 1000}
        [gone] = (await life.ask(Key.DELETE_TOPICS, 6, fields)).responses
        if gone.error_code:
            check_refusal(life, gone.error_code, None, f"the deletion of {topic.name}")
            return
        life.model.deleted(topic)
        life.counts["topics deleted"] += 1

    async def _grow(self, life: BrokerLife, topic: TopicModel, count: int) -> None:
        wanted = {"name": topic.name, "count": count, "assignments": None}
        fields = {"topics": [wanted], "timeout_ms": 1000, "validate_only": False}
        [done] = (await life.ask(Key.CREATE_PARTITIONS, 3, fields)).results
        if done.error_code:
            check_refusal(life, done.error_code, topic, f"more partitions of {topic.name}")
            return
        topic.count = count
        life.counts["topics grown"] += 1


class Committer:
    """Commits offsets without being a member, each higher than the one before."""

    def __init__(self, number: int) -> None:
        self._group = f"c{number}"
        self._offset = 0

    def begin(self) -> None:
        pass

    def act(self, life: BrokerLife) -> None:
        if not life.model.live():
            return
        topic = life.random.choice(life.model.live())
        partition = life.random.randrange(topic.count)
        self._offset += 1
        life.model.commits_of(self._group, topic, partition).sent.add(self._offset)
        life.start(self._commit(life, topic, partition, self._offset))

    async def _commit(self, life: BrokerLife, topic: TopicModel, partition: int, offset: int) -> None:
        version = life.random.choice((2, 5, 8, 10))
        named = {"topic_id": topic.topic_id} if version >= 10 else {"name": topic.name}
        wanted = {"partition_index": partition, "committed_offset": offset, "committed_metadata": ""}
        fields: dict[str, Any] = {"group_id": self._group, "generation_id_or_member_epoch": -1, "member_id": ""}
        fields["topics"] = [{**named, "partitions": [wanted]}]
        answer = await life.ask(Key.OFFSET_COMMIT, version, fields)
        [[part]] = [each.partitions for each in answer.topics]
        if part.error_code:
            check_refusal(life, part.error_code, topic, f"a commit of {self._group}")
        elif not topic.gone:
            committed = life.model.commits_of(self._group, topic, partition)
            committed.acked = max(committed.acked, offset)
            life.counts["offsets committed"] += 1


class Member:
    """The only member of a group: it joins, says what it is assigned, and leaves."""

    def __init__(self, number: int) -> None:
        self._group = f"m{number}"
        self._member_id = ""
        self._generation = -1
        self._assignment = b""
        self._busy = False
        self._settled = True  # Its last request was answered: its place in the group is known.
        self._inside = False
        self._joins = 0

    def begin(self) -> None:
        if self._busy:
            self._settled = False
        self._busy = False

    def act(self, life: BrokerLife) -> None:
        if self._busy:
            return
        self._busy = True
        if self._inside and life.random.random() < 0.5:
            life.start(self._leave(life))
        else:
            life.start(self._join(life))

    async def _join(self, life: BrokerLife) -> None:
        fields: dict[str, Any] = {"group_id": self._group, "session_timeout_ms": 1_800_000, "protocol_type": "consumer"}
        fields |= {"rebalance_timeout_ms": 1000, "member_id": self._member_id, "group_instance_id": None}
        fields["protocols"] = [{"name": "range", "metadata": b"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"}]
        answer = await life.ask(Key.JOIN_GROUP, 3, {k: v for k, v in fields.items() if k != "group_instance_id"})
        if answer.error_code == Code.UNKNOWN_MEMBER_ID and not (self._inside and self._settled):
            self._member_id = ""
            self._inside = self._busy = False
            return
        if self._refused(life, answer.error_code, "a join"):
            return
        assert answer.generation_id > self._generation, (
            f"Group {self._group} went back from generation {self._generation} to {answer.generation_id}."
        )
        self._member_id = answer.member_id
        await self._sync(life, answer.generation_id)

    async def _sync(self, life: BrokerLife, generation: int) -> None:
        self._joins += 1
        assignment = b"assignment %d" % self._joins
        fields: dict[str, Any] = {"group_id": self._group, "generation_id": generation, "member_id": self._member_id}
        fields["assignments"] = [{"member_id": self._member_id, "assignment": assignment}]
        answer = await life.ask(Key.SYNC_GROUP, 2, fields)
        if answer.error_code == Code.UNKNOWN_MEMBER_ID:  # It took too long, and was put out.
            self._member_id = ""
            self._inside = self._settled = self._busy = False
            return
        if self._refused(life, answer.error_code, "a sync"):
            return
        assert answer.assignment == assignment
        self._generation, self._assignment = generation, assignment
        self._inside = self._settled = True
        self._busy = False
        life.counts["members joined"] += 1

    async def _leave(self, life: BrokerLife) -> None:
        answer = await life.ask(Key.LEAVE_GROUP, 2, {"group_id": self._group, "member_id": self._member_id})
        if answer.error_code == Code.UNKNOWN_MEMBER_ID and not self._settled:
            pass
        elif self._refused(life, answer.error_code, "a leave"):
            return
        self._member_id = ""
        self._inside, self._settled, self._busy = False, True, False
        life.counts["members left"] += 1

    def _refused(self, life: BrokerLife, code: int, what: str) -> bool:
        if code in (Code.REBALANCE_IN_PROGRESS, Code.ILLEGAL_GENERATION) and not self._settled:
            self._busy = False
            return True
        if code:
            check_refusal(life, code, None, f"{what} of {self._group}")
            self._settled = self._busy = False
        return bool(code)

    async def check(self, life: BrokerLife) -> None:
        """After a start: a member whose sync was answered is there, with its assignment; one that left is not."""
        if not self._settled:
            return
        answer = await life.ask(Key.DESCRIBE_GROUPS, 4, {"groups": [self._group]})
        [group] = answer.groups
        found = {each.member_id: each.member_assignment for each in group.members}
        if self._inside:
            assert found == {self._member_id: self._assignment}, f"A member was lost: {self._group}, {found}"
            assert group.group_state == "Stable"
        else:
            assert not found, f"A member came back: {self._group}, {found}"
