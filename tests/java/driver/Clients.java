package driver;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** Makes clients of the broker under test, with the settings that a call asks for. */
final class Clients {
    private final String bootstrap;
    private Admin admin;

    Clients(String bootstrap) {
        this.bootstrap = bootstrap;
    }

    KafkaProducer<byte[], byte[]> producer(JsonNode call) {
        Map<String, Object> settings = settings(call);
        settings.putIfAbsent("delivery.timeout.ms", 20_000);
        return new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer());
    }

    KafkaConsumer<byte[], byte[]> consumer(JsonNode call) {
        return new KafkaConsumer<>(settings(call), new ByteArrayDeserializer(), new ByteArrayDeserializer());
    }

    /** One for all calls: it has no state that could leak from one test into another. */
    Admin admin() {
        if (admin == null) {
            admin = Admin.create(settings(Driver.JSON.createObjectNode()));
        }
        return admin;
    }

    Map<String, Object> settings(JsonNode call) {
        Map<String, Object> settings = new HashMap<>();
        settings.put("bootstrap.servers", bootstrap);
        settings.put("enable.metrics.push", false);
        settings.put("request.timeout.ms", 10_000);
        settings.put("default.api.timeout.ms", 15_000);
        call.path("config").forEachEntry((name, value) -> settings.put(name, value.asText()));
        return settings;
    }

    /** Partitions as the tests write them: [["topic", 0], …]. */
    static List<TopicPartition> partitions(JsonNode pairs) {
        List<TopicPartition> partitions = new ArrayList<>();
        pairs.forEach(pair -> partitions.add(partition(pair)));
        return partitions;
    }

    static TopicPartition partition(JsonNode pair) {
        return new TopicPartition(pair.get(0).asText(), pair.get(1).asInt());
    }

    /** The other way round: "topic-0". */
    static String name(TopicPartition partition) {
        return partition.topic() + "-" + partition.partition();
    }
}
