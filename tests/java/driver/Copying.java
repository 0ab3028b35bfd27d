package driver;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.HashMap;
import java.util.Map;

/** Copy loops that run beside the calls, by the names the test gives them. */
final class Copying {
    private record Running(Copier copier, Thread thread) {}

    private final Clients clients;
    private final Map<String, Running> running = new HashMap<>();

    Copying(Clients clients) {
        this.clients = clients;
    }

    void addTo(Map<String, Driver.Command> commands) {
        commands.put("copy.start", this::start);
        commands.put("copy.wait", this::await);
    }

    private Object start(JsonNode call) {
        Copier copier = new Copier(clients, call);
        Thread thread = new Thread(copier);
        running.put(call.get("name").asText(), new Running(copier, thread));
        thread.start();
        return true;
    }

    /** Until everything is copied, which may be told only now; what it took. Not to end in "seconds" is an error. */
    private Object await(JsonNode call) throws InterruptedException {
        Running found = running.remove(call.get("name").asText());
        if (call.has("count")) {
            found.copier().count(call.get("count").asLong());
        }
        found.thread().join(1000 * call.get("seconds").asLong());
        if (found.thread().isAlive()) {
            found.copier().stop();
            throw new IllegalStateException("the copy did not end: " + found.copier().shown());
        }
        return found.copier().shown();
    }
}
