package driver;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Future;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;

/** Sends records with Kafka's producer. */
final class Producing {
    private final Clients clients;

    Producing(Clients clients) {
        this.clients = clients;
    }

    void addTo(Map<String, Driver.Command> commands) {
        commands.put("produce", this::produce);
    }

    /** The answer says for each record where it went, or which error it got. */
    private Object produce(JsonNode call) throws Exception {
        try (KafkaProducer<byte[], byte[]> producer = clients.producer(call)) {
            return send(producer, call.get("records"));
        }
    }

    static Object send(KafkaProducer<byte[], byte[]> producer, JsonNode records) throws Exception {
        List<Future<RecordMetadata>> sent = new ArrayList<>();
        for (JsonNode record : records) {
            sent.add(producer.send(record(record)));
        }
        producer.flush();
        List<Object> answers = new ArrayList<>();
        for (Future<RecordMetadata> each : sent) {
            answers.add(outcome(each));
        }
        return answers;
    }

    private static ProducerRecord<byte[], byte[]> record(JsonNode from) throws IOException {
        Integer partition = from.has("partition") ? from.get("partition").asInt() : null;
        Long timestamp = from.has("timestamp") ? from.get("timestamp").asLong() : null;
        ProducerRecord<byte[], byte[]> record = new ProducerRecord<>(
                from.get("topic").asText(), partition, timestamp, bytes(from.get("key")), bytes(from.get("value")));
        for (JsonNode header : from.path("headers")) {
            record.headers().add(header.get(0).asText(), bytes(header.get(1)));
        }
        return record;
    }

    private static byte[] bytes(JsonNode node) throws IOException {
        return node == null || node.isNull() ? null : node.binaryValue();
    }

    private static Object outcome(Future<RecordMetadata> sent) throws InterruptedException {
        try {
            RecordMetadata metadata = sent.get();
            return Map.of(
                    "partition", metadata.partition(), "offset", metadata.offset(), "timestamp", metadata.timestamp());
        } catch (Exception failure) {
            return Map.of("error", Driver.causeOf(failure).getClass().getSimpleName());
        }
    }
}
