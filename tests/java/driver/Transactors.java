package driver;

import com.fasterxml.jackson.databind.JsonNode;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import org.apache.kafka.clients.producer.KafkaProducer;

/** Transactional producers that live from call to call, by the names a test gives them. */
final class Transactors {
    private final Clients clients;
    private final Map<String, KafkaProducer<byte[], byte[]>> producers = new HashMap<>();

    Transactors(Clients clients) {
        this.clients = clients;
    }

    void addTo(Map<String, Driver.Command> commands) {
        commands.put("transactor.open", this::open);
        commands.put("transactor.begin", call -> done(() -> producer(call).beginTransaction()));
        commands.put("transactor.send", call -> Producing.send(producer(call), call.get("records")));
        commands.put("transactor.commit", call -> done(() -> producer(call).commitTransaction()));
        commands.put("transactor.abort", call -> done(() -> producer(call).abortTransaction()));
        commands.put("transactor.close", this::close);
    }

    private static Object done(Runnable step) {
        step.run();
        return true;
    }

    private KafkaProducer<byte[], byte[]> producer(JsonNode call) {
        return producers.get(call.get("producer").asText());
    }

    private Object open(JsonNode call) {
        KafkaProducer<byte[], byte[]> producer = clients.producer(call);
        producers.put(call.get("producer").asText(), producer);
        return done(producer::initTransactions);
    }

    /** At once, as a producer goes that dies: what it has begun stays open. */
    private Object close(JsonNode call) {
        producers.remove(call.get("producer").asText()).close(Duration.ZERO);
        return true;
    }
}
