package driver;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.regex.Pattern;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.consumer.SubscriptionPattern;
import org.apache.kafka.common.TopicPartition;

/** A consumer in a group, which remembers what it was given, what was taken from it, and what it has read. */
final class Member implements ConsumerRebalanceListener {
    private final KafkaConsumer<byte[], byte[]> consumer;
    private final List<Object> events = new ArrayList<>();
    private final List<Object> records = new ArrayList<>();

    Member(KafkaConsumer<byte[], byte[]> consumer) {
        this.consumer = consumer;
    }

    void subscribe(List<String> topics) {
        consumer.subscribe(topics, this);
    }

    /** By a pattern that this client holds against all topics, or one that the broker does. */
    void subscribe(String pattern, boolean byBroker) {
        if (byBroker) {
            consumer.subscribe(new SubscriptionPattern(pattern), this);
        } else {
            consumer.subscribe(Pattern.compile(pattern), this);
        }
    }

    void poll(long ms) {
        consumer.poll(Duration.ofMillis(ms)).forEach(record -> records.add(Consuming.shown(record)));
    }

    /** All that was read since the last call, and more until it is enough. */
    List<Object> read(int count) {
        long end = System.nanoTime() + 10_000_000_000L;
        while (records.size() < count && System.nanoTime() < end) {
            poll(100);
        }
        List<Object> read = new ArrayList<>(records);
        records.clear();
        return read;
    }

    boolean has(int partitions) {
        return consumer.assignment().size() == partitions;
    }

    Map<String, Object> shown() {
        Map<String, Object> shown = new HashMap<>();
        shown.put("id", consumer.groupMetadata().memberId());
        shown.put("generation", consumer.groupMetadata().generationId());
        shown.put("assigned", names(consumer.assignment()));
        shown.put("events", new ArrayList<>(events));
        events.clear();
        return shown;
    }

    void seek(TopicPartition partition, long offset) {
        consumer.seek(partition, offset);
    }

    void commit(Map<TopicPartition, OffsetAndMetadata> offsets, boolean async) {
        Map<TopicPartition, OffsetAndMetadata> all = offsets == null ? positions() : offsets;
        if (!async) {
            consumer.commitSync(all);
            return;
        }
        CompletableFuture<Void> done = new CompletableFuture<>();
        consumer.commitAsync(all, (committed, failure) -> {
            if (failure == null) {
                done.complete(null);
            } else {
                done.completeExceptionally(failure);
            }
        });
        long end = System.nanoTime() + 10_000_000_000L;
        while (!done.isDone() && System.nanoTime() < end) {
            poll(50);
        }
        if (!done.isDone()) {
            throw new IllegalStateException("the commit was not answered");
        }
        done.join();
    }

    private Map<TopicPartition, OffsetAndMetadata> positions() {
        Map<TopicPartition, OffsetAndMetadata> positions = new HashMap<>();
        consumer.assignment().forEach(each -> positions.put(each, new OffsetAndMetadata(consumer.position(each))));
        return positions;
    }

    Map<String, Object> committed(Collection<TopicPartition> partitions) {
        Map<String, Object> shown = new HashMap<>();
        consumer.committed(new HashSet<>(partitions)).forEach((partition, at) ->
                shown.put(Clients.name(partition), at == null ? null : List.of(at.offset(), at.metadata())));
        return shown;
    }

    void close() {
        consumer.close();
    }

    private static List<String> names(Collection<TopicPartition> partitions) {
        TreeSet<String> names = new TreeSet<>();
        partitions.forEach(each -> names.add(Clients.name(each)));
        return new ArrayList<>(names);
    }

    @Override
    public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
        events.add(List.of("assigned", names(partitions)));
    }

    @Override
    public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
        events.add(List.of("revoked", names(partitions)));
    }

    @Override
    public void onPartitionsLost(Collection<TopicPartition> partitions) {
        events.add(List.of("lost", names(partitions)));
    }
}
