package driver;

import com.fasterxml.jackson.databind.JsonNode;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import org.apache.kafka.clients.consumer.CloseOptions;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;

/**
 * Copies a topic, partition by partition, in transactions that hold what was written and how far it has read.
 *
 * <p>Some transactions are aborted on purpose. After an error it gives its clients up, whatever they were doing, and goes
 * on with new ones from what the group has committed: that is all it trusts.
 */
final class Copier implements Runnable {
    private final Clients clients;
    private final JsonNode call;
    private final Random chance;
    private KafkaConsumer<byte[], byte[]> consumer;
    private KafkaProducer<byte[], byte[]> producer;
    private int commits;
    private int aborts;
    private final List<String> errors = new ArrayList<>();
    private volatile boolean stopped;
    private volatile long count;

    Copier(Clients clients, JsonNode call) {
        this.clients = clients;
        this.call = call;
        this.count = call.get("count").asLong();
        this.chance = new Random(call.get("seed").asLong());
    }

    @Override
    public void run() {
        while (!stopped) {
            try {
                begin();
                while (!stopped && !finished()) {
                    copy();
                }
                return;
            } catch (KafkaException failure) {
                errors.add(failure.getClass().getSimpleName() + ": " + failure.getMessage());
            } finally {
                end();
            }
        }
    }

    void stop() {
        stopped = true;
    }

    /** How many records there are, where nobody knew it at the start: until then there are -1. */
    void count(long all) {
        count = all;
    }

    Map<String, Object> shown() {
        return Map.of("commits", commits, "aborts", aborts, "errors", List.copyOf(errors));
    }

    private void begin() {
        consumer = clients.consumer(call.get("consumer"));
        consumer.subscribe(List.of(call.get("from").asText()));
        producer = clients.producer(call.get("producer"));
        producer.initTransactions();
    }

    private void end() {
        if (producer != null) {
            producer.close(Duration.ZERO);
        }
        if (consumer != null) {
            consumer.close(CloseOptions.timeout(Duration.ofSeconds(1)));
        }
    }

    /** Whether the group, with all its members, has committed as many records as there are. */
    private boolean finished() {
        Set<TopicPartition> partitions = new HashSet<>();
        for (int number = 0; number < call.get("partitions").asInt(); number++) {
            partitions.add(new TopicPartition(call.get("from").asText(), number));
        }
        long sum = 0;
        for (OffsetAndMetadata at : consumer.committed(partitions).values()) {
            sum += at == null ? 0 : at.offset();
        }
        return sum == count;
    }

    private void copy() {
        ConsumerRecords<byte[], byte[]> records = consumer.poll(Duration.ofMillis(50));
        if (records.isEmpty()) {
            return;
        }
        producer.beginTransaction();
        Map<TopicPartition, OffsetAndMetadata> after = new HashMap<>();
        Map<TopicPartition, Long> before = new HashMap<>();
        for (ConsumerRecord<byte[], byte[]> record : records) {
            TopicPartition partition = new TopicPartition(record.topic(), record.partition());
            producer.send(new ProducerRecord<>(call.get("to").asText(), record.partition(), null, record.value()));
            before.putIfAbsent(partition, record.offset());
            after.put(partition, new OffsetAndMetadata(record.offset() + 1));
        }
        producer.sendOffsetsToTransaction(after, consumer.groupMetadata());
        if (chance.nextInt(100) < call.get("abort_percent").asInt()) {
            producer.flush(); // Or it would throw away what it has not sent.
            producer.abortTransaction();
            aborts++;
            before.forEach(consumer::seek);
        } else {
            producer.commitTransaction();
            commits++;
        }
    }
}
