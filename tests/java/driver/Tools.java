package driver;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.InputStream;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.utils.Exit;

/** Runs the main function of Kafka's command line tools, with its input, output and exit code caught. */
final class Tools {
    /** Thrown where a tool wants the process to end. */
    private static final class Ended extends RuntimeException {
        private static final long serialVersionUID = 1;
    }

    private Integer ended; // The first code counts: some tools take the end of the process for a failure, and end again.

    void addTo(Map<String, Driver.Command> commands) {
        commands.put("tool", this::run);
    }

    private Object run(JsonNode call) throws Exception {
        List<String> arguments = new ArrayList<>();
        call.get("arguments").forEach(each -> arguments.add(each.asText()));
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        ByteArrayOutputStream err = new ByteArrayOutputStream();
        InputStream oldIn = System.in;
        PrintStream oldOut = System.out;
        PrintStream oldErr = System.err;
        System.setIn(new ByteArrayInputStream(call.path("given").asText("").getBytes(StandardCharsets.UTF_8)));
        System.setOut(new PrintStream(out, true, StandardCharsets.UTF_8));
        System.setErr(new PrintStream(err, true, StandardCharsets.UTF_8));
        ended = null;
        Exit.setExitProcedure((code, message) -> {
            ended = ended == null ? code : ended;
            throw new Ended();
        });
        try {
            main(call.get("main").asText(), arguments.toArray(new String[0]));
            return Map.of(
                    "code", ended == null ? 0 : ended,
                    "out", out.toString(StandardCharsets.UTF_8),
                    "err", err.toString(StandardCharsets.UTF_8));
        } finally {
            Exit.resetExitProcedure();
            System.setIn(oldIn);
            System.setOut(oldOut);
            System.setErr(oldErr);
        }
    }

    private static void main(String name, String[] arguments) throws Exception {
        try {
            Class.forName(name).getMethod("main", String[].class).invoke(null, (Object) arguments);
        } catch (InvocationTargetException failure) {
            if (!(failure.getCause() instanceof Ended)) {
                throw failure;
            }
        }
    }
}
