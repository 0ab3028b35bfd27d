package driver;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.Config;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.DescribeConfigsOptions;
import org.apache.kafka.common.config.ConfigResource;

/** Configs of topics and of the broker, with Kafka's admin client. */
final class Configs {
    private final Clients clients;

    Configs(Clients clients) {
        this.clients = clients;
    }

    void addTo(Map<String, Driver.Command> commands) {
        commands.put("configs.describe", this::describe);
        commands.put("configs.alter", this::alter);
        commands.put("configs.resources", this::resources);
    }

    private static ConfigResource resource(JsonNode call) {
        ConfigResource.Type type = ConfigResource.Type.valueOf(call.path("type").asText("TOPIC"));
        return new ConfigResource(type, call.get("name").asText());
    }

    private Object describe(JsonNode call) throws Exception {
        ConfigResource resource = resource(call);
        DescribeConfigsOptions options = new DescribeConfigsOptions().includeSynonyms(true).includeDocumentation(true);
        return shown(clients.admin().describeConfigs(List.of(resource), options).all().get().get(resource));
    }

    /** {"retention.ms": ["SET", "1000"], "cleanup.policy": ["APPEND", "compact"], "segment.ms": ["DELETE", ""]}. */
    private Object alter(JsonNode call) throws Exception {
        List<AlterConfigOp> changes = new ArrayList<>();
        call.get("changes").forEachEntry((name, value) -> changes.add(new AlterConfigOp(
                new ConfigEntry(name, value.get(1).asText()),
                AlterConfigOp.OpType.valueOf(value.get(0).asText()))));
        clients.admin().incrementalAlterConfigs(Map.of(resource(call), changes)).all().get();
        return true;
    }

    private Object resources(JsonNode call) throws Exception {
        List<Object> shown = new ArrayList<>();
        clients.admin().listConfigResources().all().get().forEach(each ->
                shown.add(List.of(each.type().toString(), each.name())));
        return shown;
    }

    static Map<String, Object> shown(Config config) {
        Map<String, Object> shown = new TreeMap<>();
        for (ConfigEntry entry : config.entries()) {
            Map<String, Object> facts = new HashMap<>();
            facts.put("value", entry.value());
            facts.put("source", entry.source().toString());
            facts.put("type", String.valueOf(entry.type()));
            facts.put("read_only", entry.isReadOnly());
            facts.put("documentation", entry.documentation());
            facts.put("synonyms", entry.synonyms().size());
            shown.put(entry.name(), facts);
        }
        return shown;
    }
}
