package driver;

import com.fasterxml.jackson.databind.JsonNode;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.CloseOptions;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndTimestamp;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.Header;

/** Reads with Kafka's consumer, without a group. */
final class Consuming {
    private final Clients clients;

    Consuming(Clients clients) {
        this.clients = clients;
    }

    void addTo(Map<String, Driver.Command> commands) {
        commands.put("consume", this::consume);
        commands.put("offsets", this::offsets);
    }

    /** Records from an offset on (the beginning, unless the call says "from") until there are "count" of them. */
    private Object consume(JsonNode call) {
        List<Object> records = new ArrayList<>();
        KafkaConsumer<byte[], byte[]> consumer = clients.consumer(call);
        try {
            List<TopicPartition> partitions = Clients.partitions(call.get("partitions"));
            consumer.assign(partitions);
            if (call.has("from")) {
                partitions.forEach(each -> consumer.seek(each, call.get("from").asLong()));
            } else {
                consumer.seekToBeginning(partitions);
            }
            long end = System.nanoTime() + Duration.ofSeconds(10).toNanos();
            while (records.size() < call.get("count").asInt() && System.nanoTime() < end) {
                consumer.poll(Duration.ofMillis(200)).forEach(record -> records.add(shown(record)));
            }
        } finally {
            consumer.close(CloseOptions.timeout(Duration.ZERO)); // Or it would wait for the end of its next long poll.
        }
        return records;
    }

    /** The beginnings, the ends, and the first offsets at or after a time. */
    private Object offsets(JsonNode call) {
        List<TopicPartition> partitions = Clients.partitions(call.get("partitions"));
        Map<String, Object> answer = new HashMap<>();
        try (KafkaConsumer<byte[], byte[]> consumer = clients.consumer(call)) {
            answer.put("beginning", named(consumer.beginningOffsets(partitions)));
            answer.put("end", named(consumer.endOffsets(partitions)));
            if (call.has("timestamp")) {
                Map<TopicPartition, Long> times = new HashMap<>();
                partitions.forEach(each -> times.put(each, call.get("timestamp").asLong()));
                Map<String, Object> found = new HashMap<>();
                consumer.offsetsForTimes(times).forEach((each, at) -> found.put(Clients.name(each), shown(at)));
                answer.put("at", found);
            }
        }
        return answer;
    }

    private static Map<String, Object> named(Map<TopicPartition, Long> offsets) {
        Map<String, Object> named = new HashMap<>();
        offsets.forEach((partition, offset) -> named.put(Clients.name(partition), offset));
        return named;
    }

    private static Object shown(OffsetAndTimestamp found) {
        return found == null ? null : List.of(found.offset(), found.timestamp());
    }

    static Map<String, Object> shown(ConsumerRecord<byte[], byte[]> record) {
        Map<String, Object> shown = new LinkedHashMap<>();
        shown.put("topic", record.topic());
        shown.put("partition", record.partition());
        shown.put("offset", record.offset());
        shown.put("leader_epoch", record.leaderEpoch().orElse(-1));
        shown.put("timestamp", record.timestamp());
        shown.put("timestamp_type", record.timestampType().toString());
        shown.put("key", record.key());
        shown.put("value", record.value());
        List<Object> headers = new ArrayList<>();
        for (Header header : record.headers()) {
            List<Object> pair = new ArrayList<>();
            pair.add(header.key());
            pair.add(header.value());
            headers.add(pair);
        }
        shown.put("headers", headers);
        return shown;
    }
}
