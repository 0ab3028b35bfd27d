package driver;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.apache.kafka.common.message.ApiMessageType;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.types.Schema;

/** Random messages of any API and version, as bytes and as JSON: what a codec of ours has to agree with. */
final class Samples {
    void addTo(Map<String, Driver.Command> commands) {
        commands.put("samples", this::samples);
    }

    /** "count" messages from "seed" on; the same seed makes the same message. */
    private Object samples(JsonNode call) throws Exception {
        ApiMessageType api = ApiMessageType.fromApiKey((short) call.get("api").asInt());
        boolean request = call.get("request").asBoolean();
        short version = (short) call.get("version").asInt();
        Schema[] schemas = request ? api.requestSchemas() : api.responseSchemas();
        List<Object> samples = new ArrayList<>();
        for (int number = 0; number < call.get("count").asInt(); number++) {
            Chance chance = new Chance(new Random(call.get("seed").asLong() + number));
            JsonNode json = chance.struct(schemas[version]);
            ApiMessage message = Messages.fromJson(Messages.classOf(api, request), json, version);
            samples.add(Map.of("bytes", Messages.toBytes(message, version), "json", json));
        }
        return samples;
    }
}
