package driver;

import com.fasterxml.jackson.databind.JsonNode;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.state.Stores;

/** Kafka Streams: words are counted, through a topic that brings equal words together and a store with a changelog. */
final class Counting {
    private final Clients clients;
    private final Map<String, KafkaStreams> running = new HashMap<>();
    private final List<String> failures = Collections.synchronizedList(new ArrayList<>());

    Counting(Clients clients) {
        this.clients = clients;
    }

    void addTo(Map<String, Driver.Command> commands) {
        commands.put("streams.start", this::start);
        commands.put("streams.running", this::await);
        commands.put("streams.close", this::close);
    }

    /** Every record makes one: its word, and how often it was there so far. Nothing is cached, so none is left out. */
    private static Topology words(String from, String to) {
        StreamsBuilder builder = new StreamsBuilder();
        builder.stream(from, Consumed.with(Serdes.ByteArray(), Serdes.String()))
                .groupBy((key, word) -> word, Grouped.with(Serdes.String(), Serdes.String()))
                .count(Materialized.<String, Long>as(Stores.inMemoryKeyValueStore("counts"))
                        .withCachingDisabled()
                        .withKeySerde(Serdes.String())
                        .withValueSerde(Serdes.Long()))
                .toStream()
                .mapValues(count -> Long.toString(count))
                .to(to, Produced.with(Serdes.String(), Serdes.String()));
        return builder.build();
    }

    private Object start(JsonNode call) {
        Properties settings = new Properties();
        settings.putAll(clients.settings(call));
        KafkaStreams streams = new KafkaStreams(words(call.get("from").asText(), call.get("to").asText()), settings);
        streams.setUncaughtExceptionHandler(failure -> {
            failures.add(String.valueOf(failure));
            return StreamThreadExceptionResponse.SHUTDOWN_CLIENT;
        });
        running.put(call.get("name").asText(), streams);
        streams.start();
        return true;
    }

    /** Waits until it has its partitions and its store. */
    private Object await(JsonNode call) throws InterruptedException {
        KafkaStreams streams = running.get(call.get("name").asText());
        long end = System.nanoTime() + Duration.ofSeconds(call.get("seconds").asLong()).toNanos();
        while (streams.state() != KafkaStreams.State.RUNNING) {
            if (System.nanoTime() > end || !failures.isEmpty()) {
                throw new IllegalStateException(streams.state() + " " + failures);
            }
            Thread.sleep(20);
        }
        return true;
    }

    /** What it failed with, if it did. */
    private Object close(JsonNode call) {
        running.remove(call.get("name").asText()).close(Duration.ofSeconds(20));
        return List.copyOf(failures);
    }
}
