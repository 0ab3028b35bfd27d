package driver;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;

/**
 * Runs Kafka's Java clients for the tests, all in one JVM, since starting one is what takes time.
 *
 * <p>A line of the input is a call, {"do": "topics.create", …}; a line of the output is its answer, {"result": …} or
 * {"error": …, "message": …}. It ends with its input, so that it never outlives the test that started it.
 */
public final class Driver {
    /** One thing that a test can have done. */
    interface Command {
        Object run(JsonNode call) throws Exception;
    }

    static final ObjectMapper JSON = new ObjectMapper();

    private final Map<String, Command> commands = new HashMap<>();

    private Driver(String bootstrap) {
        Clients clients = new Clients(bootstrap);
        new Producing(clients).addTo(commands);
        new Consuming(clients).addTo(commands);
        new Members(clients).addTo(commands);
        new Topics(clients).addTo(commands);
        new Configs(clients).addTo(commands);
        new Groups(clients).addTo(commands);
        new Shares(clients).addTo(commands);
        new Cluster(clients).addTo(commands);
        new Transactors(clients).addTo(commands);
        new TransactionAdmin(clients).addTo(commands);
        new Copying(clients).addTo(commands);
        new Counting(clients).addTo(commands);
        new Wire(bootstrap).addTo(commands);
        new Samples().addTo(commands);
        new Tools().addTo(commands);
    }

    public static void main(String[] arguments) throws Exception {
        PrintStream answers = System.out;
        System.setOut(System.err); // Whatever a library prints must not come between the answers.
        Driver driver = new Driver(arguments[0]);
        BufferedReader calls = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = calls.readLine(); line != null; line = calls.readLine()) {
            answers.write(JSON.writeValueAsBytes(driver.answer(JSON.readTree(line))));
            answers.write('\n');
            answers.flush();
        }
        Runtime.getRuntime().halt(0); // Clients that a test left open would otherwise say goodbye one by one.
    }

    private Map<String, Object> answer(JsonNode call) {
        Map<String, Object> answer = new HashMap<>();
        try {
            Command command = commands.get(call.get("do").asText());
            if (command == null) {
                throw new IllegalArgumentException("no such command");
            }
            answer.put("result", command.run(call));
        } catch (Exception failure) {
            Throwable cause = causeOf(failure);
            answer.put("error", cause.getClass().getSimpleName());
            answer.put("message", String.valueOf(cause.getMessage()));
        }
        return answer;
    }

    /** What a future failed with, rather than that it failed. */
    static Throwable causeOf(Throwable failure) {
        boolean wrapped = failure instanceof ExecutionException
                || failure instanceof CompletionException
                || failure instanceof InvocationTargetException;
        return wrapped && failure.getCause() != null ? failure.getCause() : failure;
    }
}
