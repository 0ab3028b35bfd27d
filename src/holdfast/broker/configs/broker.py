"""The broker's settings as configs: what tools see when they ask for a broker's, as it was started."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

from holdfast.broker.configs.kafka import FOREIGN
from holdfast.broker.configs.topic import TOPIC_CONFIGS, ConfigKind, ConfigSource
from holdfast.broker.settings import BrokerSettings, kafka_name
from holdfast.security.secret import Secret

MEANINGS: Mapping[str, str] = {
    "node.id": "this broker's number",
    "broker.rack": "where this broker is; of several, one in a reader's rack serves it old records",
    "listeners": "the ports for Kafka clients, `NAME://HOST:PORT` each; empty: the one of `serve.listen`",
    "advertised.listeners": "the addresses that their clients are told; a listener without one tells its own",
    "listener.security.protocol.map": "how each of them is protected, by its name",
    "ssl.keystore.type": "PEM: nothing else is read",
    "ssl.keystore.location": "a file with a private key and its chain of certificates, looked at every second",
    "ssl.keystore.certificate.chain": "the chain itself, instead of a file",
    "ssl.keystore.key": "and its key",
    "ssl.key.password": "of a key that is encrypted",
    "ssl.truststore.type": "PEM: nothing else is read",
    "ssl.truststore.location": "a file with the certificates that sign those of clients, looked at every second",
    "ssl.truststore.certificates": "these certificates themselves, instead of a file",
    "ssl.client.auth": "whether clients show a certificate: none, requested or required",
    "ssl.enabled.protocols": "TLSv1.2, TLSv1.3 or both",
    "ssl.cipher.suites": "those that may be used; empty: all that are forward secret and authenticated",
    "ssl.principal.mapping.rules": "what makes a user's name of a certificate's: RULE:PATTERN/NAME/[LU], or DEFAULT",
    "sasl.enabled.mechanisms": "what listeners with SASL offer: PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER",
    "sasl.jaas.config": 'PlainLoginModule with `user_NAME="PASSWORD"`; all other users are kept in the store',
    "sasl.server.max.receive.size": "bytes of a request whose sender has not logged in yet",
    "sasl.server.callback.handler.class": "Kafka's validator of OAUTHBEARER, which is built in; no other",
    "sasl.oauthbearer.jwks.endpoint.url": "where the issuer of tokens publishes its keys: `https:…` or `file:…`",
    "sasl.oauthbearer.expected.audience": "one of these is in every token; empty: any",
    "sasl.oauthbearer.expected.issuer": "who issues every token; empty: anybody whose key is published there",
    "sasl.oauthbearer.sub.claim.name": "what in a token is the user's name",
    "sasl.oauthbearer.scope.claim.name": "what in a token are its scopes",
    "sasl.oauthbearer.clock.skew.seconds": "by so much the issuer's clock may differ",
    "sasl.oauthbearer.jwks.endpoint.refresh.ms": "how often the keys are fetched",
    "connections.max.reauth.ms": "a session with SASL ends after so long, unless they log in again; 0: never",
    "connection.failed.authentication.delay.ms": "whoever does not prove who they are hears so after this",
    "authorizer.class.name": "Kafka's `StandardAuthorizer`, or `standard`: rules say who may what; empty: everybody",
    "super.users": "they may everything, whatever rules say: `User:admin;User:ops`",
    "allow.everyone.if.no.acl.found": "whether what no rule names is open to everybody",
    "num.partitions": "of topics made without saying how many",
    "auto.create.topics.enable": "whether naming a topic that is not there makes it",
    "delete.topic.enable": "whether topics may be deleted",
    "holdfast.accept.any.replication.factor": "whether topics may be made with any replication factor; it stays 1",
    "message.max.bytes": "the largest batch, unless a topic says otherwise",
    "log.retention.ms": "how long records are kept, unless a topic says otherwise; -1 is for ever",
    "log.retention.bytes": "how much of a partition is kept, unless a topic says otherwise; -1 is all",
    "log.cleanup.policy": "delete old segments, compact by key, or both, unless a topic says otherwise",
    "log.message.timestamp.type": "whose time a record has, unless a topic says otherwise",
    "socket.request.max.bytes": "the largest request",
    "socket.request.max.ms": "for a whole request to arrive; a second more for each 256 KiB of it",
    "socket.response.max.ms": "a client that takes nothing of its answers for so long is closed",
    "max.connections": "as many clients may be connected",
    "max.connections.per.ip": "as many of them from one address",
    "max.connections.per.ip.overrides": "another number for some addresses: `10.0.0.7:200,::1:50`",
    "max.connection.creation.rate": "new connections a second; more wait to be accepted",
    "group.consumer.session.timeout.ms": "a consumer whose coordinator assigns is gone when it is silent so long",
    "group.consumer.heartbeat.interval.ms": "how often such a consumer is told to say that it lives",
    "group.consumer.min.session.timeout.ms": "the shortest session that such a group may have of its own",
    "group.consumer.max.session.timeout.ms": "the longest session that such a group may have of its own",
    "group.consumer.min.heartbeat.interval.ms": "the shortest interval that such a group may have of its own",
    "group.consumer.max.heartbeat.interval.ms": "the longest interval that such a group may have of its own",
    "group.consumer.assignors": "those that such consumers may ask for; the first is for all others",
    "group.consumer.max.size": "as many such consumers may be in a group",
    "group.consumer.migration.policy": "which way groups with members may change their protocol",
    "connections.max.idle.ms": "a connection that is silent so long is closed",
    "queued.max.request.bytes": "bytes of requests not answered yet, of all connections together",
    "queued.max.response.bytes": "bytes of answers not taken yet, of all connections together",
    "fetch.max.bytes": "the most one fetch gets",
    "max.incremental.fetch.session.cache.slots": "how many fetch sessions are remembered",
    "max.incremental.fetch.session.partitions": "how many partitions all fetch sessions together may remember",
    "min.incremental.fetch.session.eviction.ms": "a fetch session that was silent for less makes room for no other",
    "group.min.session.timeout.ms": "the shortest session a group's member may ask for",
    "group.max.session.timeout.ms": "the longest session a group's member may ask for",
    "group.initial.rebalance.delay.ms": "how long an empty group waits for more members than the first",
    "group.max.size": "members of one group",
    "max.groups": "of all kinds; when there are as many, silent ones without offsets make room",
    "max.committed.offsets.bytes": "of memory that the committed offsets of all groups take, about",
    "max.transactional.ids": "when there are as many, those that never had a transaction make room",
    "max.partitions": "of all topics together, those of internal ones counted",
    "max.client.quotas": "users, client ids and addresses that have a quota",
    "quota.window.num": "a client that was quiet may use its quota of all windows but one in one go",
    "quota.window.size.seconds": "of each of these windows",
    "controller.quota.window.num": "the same, of partitions that are made and deleted",
    "controller.quota.window.size.seconds": "of each of these windows",
    "max.metadata.bytes": "of the names and configs of all topics, and of all quotas, together",
    "group.share.session.timeout.ms": "a member of a share group is gone after so long without a sign",
    "group.share.heartbeat.interval.ms": "how often members of share groups are heard of",
    "group.share.min.session.timeout.ms": "the shortest session that a share group may have of its own",
    "group.share.max.session.timeout.ms": "the longest session that a share group may have of its own",
    "group.share.min.heartbeat.interval.ms": "the shortest interval that a share group may have of its own",
    "group.share.max.heartbeat.interval.ms": "the longest interval that a share group may have of its own",
    "group.share.min.record.lock.duration.ms": "the shortest lock that a share group may have of its own",
    "group.share.max.record.lock.duration.ms": "the longest lock that a share group may have of its own",
    "group.share.min.delivery.count.limit": "the fewest deliveries that a share group may allow",
    "group.share.max.delivery.count.limit": "the most deliveries that a share group may allow",
    "group.share.min.partition.max.record.locks": "the fewest records under way that a share group may allow",
    "group.share.max.partition.max.record.locks": "the most records under way that a share group may allow",
    "group.share.max.size": "members of one share group",
    "group.share.max.groups": "share groups; when there are as many, those that never read anything make room",
    "group.share.max.partitions": "that all share groups together may read",
    "group.share.record.lock.duration.ms": "how long a record is a member's, unless the group says otherwise",
    "group.share.delivery.count.limit": "how often a record is delivered before it is archived",
    "group.share.partition.max.record.locks": "records of one partition that a share group has under way, at most",
    "group.share.max.share.sessions": "how many share sessions are remembered",
    "share.coordinator.state.topic.num.partitions": "of the topic that holds share groups; fixed when it is made",
    "offset.metadata.max.bytes": "bytes of text beside a committed offset",
    "offsets.retention.minutes": "how long offsets of a group without members are kept",
    "offsets.topic.num.partitions": "of the topic that holds groups and their offsets; fixed when it is made",
    "transaction.state.log.num.partitions": "of the topic that holds transactions; fixed when it is made",
    "transaction.max.timeout.ms": "longest time that a producer may ask for its transactions",
    "transactional.id.expiration.ms": "a transactional id that is not used for so long is forgotten",
}
_LISTS = (
    "listeners",
    "advertised.listeners",
    "ssl.enabled.protocols",
    "ssl.cipher.suites",
    "sasl.enabled.mechanisms",
    "sasl.oauthbearer.expected.audience",
)
_KINDS = {bool: ConfigKind.BOOLEAN, str: ConfigKind.STRING, Secret: ConfigKind.PASSWORD}


@dataclass(frozen=True, slots=True)
class BrokerConfig:
    """One setting, as it is shown."""

    name: str
    kind: ConfigKind
    value: str | None  # None: it means nothing here, and the meaning says why.
    default: str | None
    meaning: str

    @property
    def source(self) -> ConfigSource:
        return ConfigSource.DEFAULT if self.value == self.default else ConfigSource.BROKER


def broker_configs(settings: BrokerSettings, told: str) -> list[BrokerConfig]:
    """All settings, the defaults of topics that are none, and every other name that Kafka has.

    `told` is the listener that is asked, as its clients are told it: what is shown where no listeners are set.
    """
    listeners = settings.listeners or told
    here = {"listeners": listeners, "advertised_listeners": settings.advertised_listeners or listeners}
    defaults = BrokerSettings()
    own = []
    for field in fields(BrokerSettings):
        if field.name == "listener_overrides":
            continue
        value, default = here.get(field.name, getattr(settings, field.name)), getattr(defaults, field.name)
        name = kafka_name(field.name)
        kind = ConfigKind.LIST if name in _LISTS else _KINDS.get(type(default), ConfigKind.LONG)
        own.append(BrokerConfig(name, kind, _text(value), _text(default), MEANINGS.get(name, "")))
    own += [_override(*each) for each in settings.listener_overrides.items()]
    known = {each.name for each in own}
    defaults_of_topics = [
        BrokerConfig(each.broker_name, each.kind, each.default, each.default, each.effect)
        for each in TOPIC_CONFIGS.values()
        if each.broker_name and each.broker_name not in known
    ]
    foreign = [BrokerConfig(each.name, each.kind, each.value, each.value, each.reason) for each in FOREIGN.values()]
    return sorted([*own, *defaults_of_topics, _broker_id(settings), *foreign], key=lambda each: each.name)


def _override(name: str, value: str | Secret) -> BrokerConfig:
    """What is set for one listener."""
    kind = ConfigKind.PASSWORD if isinstance(value, Secret) else ConfigKind.STRING
    return BrokerConfig(name, kind, _text(value), None, "for one listener")


def _broker_id(settings: BrokerSettings) -> BrokerConfig:
    default = _text(BrokerSettings().node_id)
    return BrokerConfig("broker.id", ConfigKind.INT, str(settings.node_id), default, "the same as node.id")


def _text(value: object) -> str | None:
    if isinstance(value, Secret):
        return None
    return str(value).lower() if isinstance(value, bool) else str(value)
