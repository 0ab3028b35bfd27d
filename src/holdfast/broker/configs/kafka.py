"""Kafka's other broker configs, which are no settings here: what each of them is, and why.

DescribeConfigs lists them all, so that tools find what they look for. One that has a true value here shows it; all
others have none, since a value that means nothing would be shown as if it did. None of them can be set.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from holdfast.broker.configs.topic import ConfigKind


class Foreign(NamedTuple):
    """One of Kafka's configs that is no setting here."""

    name: str
    kind: ConfigKind
    value: str | None  # Where there is a true one.
    reason: str


def _parsed(reason: str, table: str) -> Iterator[Foreign]:
    for line in table.strip().splitlines():
        named, _, value = line.strip().partition(" = ")
        name, kind = named.split(" ")
        yield Foreign(name, ConfigKind[kind.upper()], value or None, reason)


# Of Apache Kafka 4.3.1: name, type, and the value that is true here, if there is one.
_TABLES: Mapping[str, str] = {
    "Kafka's threads, buffers and timers have no counterpart: all state changes on one event loop": """
        background.threads int
        delete.records.purgatory.purge.interval.requests int
        fetch.purgatory.purge.interval.requests int
        group.coordinator.append.linger.ms int
        group.coordinator.background.threads int
        group.coordinator.cached.buffer.max.bytes int
        group.coordinator.threads int
        max.request.partition.size.limit int
        num.io.threads int
        num.network.threads int
        num.recovery.threads.per.data.dir int
        offsets.commit.timeout.ms int
        offsets.load.buffer.size int
        offsets.retention.check.interval.ms long
        offsets.topic.compression.codec int = 0
        offsets.topic.segment.bytes int
        producer.purgatory.purge.interval.requests int
        queued.max.requests int
        request.timeout.ms int
        share.coordinator.append.linger.ms int
        share.coordinator.cached.buffer.max.bytes int
        share.coordinator.load.buffer.size int
        share.coordinator.snapshot.update.records.per.snapshot int
        share.coordinator.state.topic.compression.codec int = 0
        share.coordinator.state.topic.segment.bytes int
        share.coordinator.threads int
        share.coordinator.write.timeout.ms int
        share.fetch.purgatory.purge.interval.requests int
        transaction.abort.timed.out.transaction.cleanup.interval.ms int
        transaction.partition.verification.enable boolean = true
        transaction.remove.expired.transaction.cleanup.interval.ms int
        transaction.state.log.load.buffer.size int
        transaction.state.log.segment.bytes int
        transaction.two.phase.commit.enable boolean = false
    """,
    "all segments are in the store, and there is no second place": """
        follower.fetch.last.tiered.offset.enable boolean
        remote.fetch.max.wait.ms int
        remote.list.offsets.request.timeout.ms long
        remote.log.index.file.cache.total.size.bytes long
        remote.log.manager.copier.thread.pool.size int
        remote.log.manager.copy.max.bytes.per.second long
        remote.log.manager.copy.quota.window.num int
        remote.log.manager.copy.quota.window.size.seconds int
        remote.log.manager.expiration.thread.pool.size int
        remote.log.manager.fetch.max.bytes.per.second long
        remote.log.manager.fetch.quota.window.num int
        remote.log.manager.fetch.quota.window.size.seconds int
        remote.log.manager.follower.thread.pool.size int
        remote.log.manager.task.interval.ms long
        remote.log.manager.thread.pool.size int
        remote.log.metadata.custom.metadata.max.bytes int
        remote.log.metadata.manager.class.name string
        remote.log.metadata.manager.class.path string
        remote.log.metadata.manager.impl.prefix string
        remote.log.metadata.manager.listener.name string
        remote.log.reader.max.pending.tasks int
        remote.log.reader.threads int
        remote.log.storage.manager.class.name string
        remote.log.storage.manager.class.path string
        remote.log.storage.manager.impl.prefix string
        remote.log.storage.system.enable boolean = false
    """,
    "assignments are made by the broker's own assignors as soon as members or topics change": """
        group.consumer.assignment.interval.ms int = 0
        group.consumer.max.assignment.interval.ms int = 0
        group.consumer.min.assignment.interval.ms int = 0
        group.coordinator.rebalance.protocols list = classic,consumer,share
        group.share.assignment.interval.ms int = 0
        group.share.assignors list = simple
        group.share.max.assignment.interval.ms int = 0
        group.share.min.assignment.interval.ms int = 0
    """,
    "deletion and compaction run by themselves when something is due; log.* in the settings says how much at once": """
        log.cleaner.backoff.ms long
        log.cleaner.dedupe.buffer.size long
        log.cleaner.enable boolean = true
        log.cleaner.io.buffer.load.factor double
        log.cleaner.io.buffer.size int
        log.cleaner.io.max.bytes.per.second double
        log.cleaner.threads int
        log.retention.check.interval.ms long
    """,
    "every batch is durable before it is acknowledged: there is nothing to checkpoint": """
        log.flush.offset.checkpoint.interval.ms int
        log.flush.start.offset.checkpoint.interval.ms int
    """,
    "metrics are read by Prometheus (serve.metrics_listen); clients are asked for none": """
        kafka.metrics.polling.interval.secs int
        kafka.metrics.reporters list
        metric.reporters list
        metrics.num.samples int
        metrics.recording.level string
        metrics.sample.window.ms long
        telemetry.max.bytes int = 0
    """,
    "no foreign code runs in the broker": """
        alter.config.policy.class.name class
        config.providers list
        create.topic.policy.class.name class
    """,
    "producers are forgotten by their number in a partition (log.producer_ids_max), the most silent ones first": """
        producer.id.expiration.ms int
    """,
    "quotas are those of AlterClientQuotas, with no code of others": """
        client.quota.callback.class class
    """,
    "set when the broker starts: serve.data_path, serve.store; see DescribeLogDirs": """
        log.dir list
        log.dirs list
    """,
    "the config in milliseconds says it: log.retention.ms, log.roll.ms, log.roll.jitter.ms, log.flush.interval.ms": """
        log.flush.scheduler.interval.ms long
        log.retention.hours int
        log.retention.minutes int
        log.roll.hours int
        log.roll.jitter.hours int
    """,
    "TLS is OpenSSL's, and a PEM file has no password but that of its key: ssl.key.password": """
        ssl.allow.dn.changes boolean
        ssl.allow.san.changes boolean
        ssl.endpoint.identification.algorithm string
        ssl.engine.factory.class class
        ssl.keymanager.algorithm string
        ssl.keystore.password password
        ssl.protocol string
        ssl.provider string
        ssl.secure.random.implementation string
        ssl.trustmanager.algorithm string
        ssl.truststore.password password
    """,
    "the operating system's": """
        socket.connection.setup.timeout.max.ms long
        socket.connection.setup.timeout.ms long
        socket.listen.backlog.size int
        socket.receive.buffer.bytes int
        socket.send.buffer.bytes int
    """,
    "there are no streams groups (KIP-1071)": """
        group.streams.assignment.interval.ms int
        group.streams.heartbeat.interval.ms int
        group.streams.initial.rebalance.delay.ms int
        group.streams.max.assignment.interval.ms int
        group.streams.max.heartbeat.interval.ms int
        group.streams.max.session.timeout.ms int
        group.streams.max.size int
        group.streams.max.standby.replicas int
        group.streams.min.assignment.interval.ms int
        group.streams.min.heartbeat.interval.ms int
        group.streams.min.session.timeout.ms int
        group.streams.num.standby.replicas int
        group.streams.session.timeout.ms int
    """,
    "there are no delegation tokens, no Kerberos, no classes to load, no logins of the broker's own": """
        delegation.token.expiry.check.interval.ms long
        delegation.token.expiry.time.ms long
        delegation.token.max.lifetime.ms long
        delegation.token.secret.key password
        principal.builder.class class
        sasl.client.callback.handler.class class
        sasl.kerberos.kinit.cmd string
        sasl.kerberos.min.time.before.relogin long
        sasl.kerberos.principal.to.local.rules list
        sasl.kerberos.service.name string
        sasl.kerberos.ticket.renew.jitter double
        sasl.kerberos.ticket.renew.window.factor double
        sasl.login.callback.handler.class class
        sasl.login.class class
        sasl.login.connect.timeout.ms int
        sasl.login.read.timeout.ms int
        sasl.login.refresh.buffer.seconds short
        sasl.login.refresh.min.period.seconds short
        sasl.login.refresh.window.factor double
        sasl.login.refresh.window.jitter double
        sasl.login.retry.backoff.max.ms long
        sasl.login.retry.backoff.ms long
        sasl.mechanism.controller.protocol string
        sasl.mechanism.inter.broker.protocol string
        sasl.oauthbearer.assertion.algorithm string
        sasl.oauthbearer.assertion.claim.aud string
        sasl.oauthbearer.assertion.claim.exp.seconds int
        sasl.oauthbearer.assertion.claim.iss string
        sasl.oauthbearer.assertion.claim.jti.include boolean
        sasl.oauthbearer.assertion.claim.nbf.seconds int
        sasl.oauthbearer.assertion.claim.sub string
        sasl.oauthbearer.assertion.file string
        sasl.oauthbearer.assertion.private.key.file string
        sasl.oauthbearer.assertion.private.key.passphrase password
        sasl.oauthbearer.assertion.template.file string
        sasl.oauthbearer.client.credentials.client.id string
        sasl.oauthbearer.client.credentials.client.secret password
        sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms long
        sasl.oauthbearer.jwks.endpoint.retry.backoff.ms long
        sasl.oauthbearer.jwt.retriever.class class
        sasl.oauthbearer.jwt.validator.class class
        sasl.oauthbearer.scope string
        sasl.oauthbearer.token.endpoint.url string
        security.inter.broker.protocol string = PLAINTEXT
        security.providers string
    """,
    "there is one broker: nothing is replicated, elected or moved": """
        add.partitions.to.txn.retry.backoff.max.ms int
        add.partitions.to.txn.retry.backoff.ms int
        alter.log.dirs.replication.quota.window.num int
        alter.log.dirs.replication.quota.window.size.seconds int
        auto.leader.rebalance.enable boolean = false
        broker.heartbeat.interval.ms int
        broker.session.timeout.ms int
        controlled.shutdown.enable boolean = true
        controller.listener.names list
        controller.quorum.append.linger.ms int
        controller.quorum.auto.join.enable boolean
        controller.quorum.bootstrap.servers list
        controller.quorum.election.backoff.max.ms int
        controller.quorum.election.timeout.ms int
        controller.quorum.fetch.max.bytes int
        controller.quorum.fetch.snapshot.max.bytes int
        controller.quorum.fetch.timeout.ms int
        controller.quorum.request.timeout.ms int
        controller.quorum.retry.backoff.ms int
        controller.quorum.voters list
        controller.socket.timeout.ms int
        cordoned.log.dirs list
        default.replication.factor int = 1
        early.start.listeners list
        initial.broker.registration.timeout.ms int
        inter.broker.listener.name string = PLAINTEXT
        follower.replication.throttled.rate long
        leader.imbalance.check.interval.seconds long
        leader.replication.throttled.rate long
        replica.alter.log.dirs.io.max.bytes.per.second long
        log.dir.failure.timeout.ms long
        metadata.log.dir string
        metadata.log.max.record.bytes.between.snapshots long
        metadata.log.max.snapshot.interval.ms long
        metadata.log.segment.bytes int
        metadata.log.segment.ms long
        metadata.max.idle.interval.ms int
        metadata.max.retention.bytes long
        metadata.max.retention.ms long
        num.replica.alter.log.dirs.threads int
        num.replica.fetchers int
        offsets.topic.replication.factor short = 1
        process.roles list = broker,controller
        replica.fetch.backoff.ms int
        replica.fetch.max.bytes int
        replica.fetch.min.bytes int
        replica.fetch.response.max.bytes int
        replica.fetch.wait.max.ms int
        replica.high.watermark.checkpoint.interval.ms long
        replica.lag.time.max.ms long
        replica.selector.class string
        replica.socket.receive.buffer.bytes int
        replica.socket.timeout.ms int
        replication.quota.window.num int
        replication.quota.window.size.seconds int
        share.coordinator.state.topic.min.isr short = 1
        share.coordinator.state.topic.replication.factor short = 1
        transaction.state.log.min.isr int = 1
        transaction.state.log.replication.factor short = 1
    """,
}
FOREIGN: Mapping[str, Foreign] = {
    each.name: each for reason, table in _TABLES.items() for each in _parsed(reason, table)
}
