package driver;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.apache.kafka.clients.admin.CreateTopicsOptions;
import org.apache.kafka.clients.admin.CreateTopicsResult;
import org.apache.kafka.clients.admin.ListTopicsOptions;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.TopicPartitionInfo;

/** Topics and what is in them, with Kafka's admin client. */
final class Topics {
    private final Clients clients;

    Topics(Clients clients) {
        this.clients = clients;
    }

    void addTo(Map<String, Driver.Command> commands) {
        commands.put("topics.create", this::create);
        commands.put("topics.list", this::list);
        commands.put("topics.describe", this::describe);
        commands.put("topics.delete", this::delete);
        commands.put("topics.grow", this::grow);
        commands.put("records.delete", this::deleteRecords);
        commands.put("records.offsets", this::offsets);
    }

    private Object create(JsonNode call) throws Exception {
        String name = call.get("topic").asText();
        Optional<Integer> partitions = Optional.empty();
        if (call.has("partitions")) {
            partitions = Optional.of(call.get("partitions").asInt());
        }
        Optional<Short> copies = Optional.empty();
        if (call.has("replication_factor")) {
            copies = Optional.of((short) call.get("replication_factor").asInt());
        }
        Map<String, String> configs = new HashMap<>();
        call.path("configs").forEachEntry((config, value) -> configs.put(config, value.asText()));
        NewTopic topic = new NewTopic(name, partitions, copies).configs(configs);
        CreateTopicsOptions options = new CreateTopicsOptions().validateOnly(call.path("validate_only").asBoolean());
        CreateTopicsResult result = clients.admin().createTopics(List.of(topic), options);
        result.all().get();
        Map<String, Object> answer = new HashMap<>();
        answer.put("id", result.topicId(name).get().toString());
        answer.put("partitions", result.numPartitions(name).get());
        answer.put("replication_factor", result.replicationFactor(name).get());
        answer.put("configs", Configs.shown(result.config(name).get()));
        return answer;
    }

    private Object list(JsonNode call) throws Exception {
        ListTopicsOptions options = new ListTopicsOptions().listInternal(call.path("internal").asBoolean());
        return clients.admin().listTopics(options).names().get();
    }

    private Object describe(JsonNode call) throws Exception {
        String name = call.get("topic").asText();
        TopicDescription found = clients.admin().describeTopics(List.of(name)).allTopicNames().get().get(name);
        List<Object> partitions = new ArrayList<>();
        for (TopicPartitionInfo each : found.partitions()) {
            partitions.add(Map.of(
                    "partition", each.partition(),
                    "leader", each.leader().id(),
                    "replicas", each.replicas().size(),
                    "isr", each.isr().size()));
        }
        return Map.of(
                "id", found.topicId().toString(), "internal", found.isInternal(), "partitions", partitions);
    }

    private Object delete(JsonNode call) throws Exception {
        clients.admin().deleteTopics(List.of(call.get("topic").asText())).all().get();
        return true;
    }

    private Object grow(JsonNode call) throws Exception {
        NewPartitions partitions = NewPartitions.increaseTo(call.get("partitions").asInt());
        clients.admin().createPartitions(Map.of(call.get("topic").asText(), partitions)).all().get();
        return true;
    }

    /** The answer is the offset that the partition begins with afterwards. */
    private Object deleteRecords(JsonNode call) throws Exception {
        TopicPartition partition = Clients.partition(call.get("partition"));
        RecordsToDelete records = RecordsToDelete.beforeOffset(call.get("before").asLong());
        return clients.admin().deleteRecords(Map.of(partition, records)).lowWatermarks().get(partition).get().lowWatermark();
    }

    private Object offsets(JsonNode call) throws Exception {
        TopicPartition partition = Clients.partition(call.get("partition"));
        Map<String, OffsetSpec> kinds = Map.of(
                "earliest", OffsetSpec.earliest(),
                "latest", OffsetSpec.latest(),
                "max_timestamp", OffsetSpec.maxTimestamp(),
                "earliest_local", OffsetSpec.earliestLocal(),
                "latest_tiered", OffsetSpec.latestTiered());
        Map<String, Object> answer = new TreeMap<>();
        for (Map.Entry<String, OffsetSpec> kind : kinds.entrySet()) {
            var found = clients.admin().listOffsets(Map.of(partition, kind.getValue())).partitionResult(partition).get();
            answer.put(kind.getKey(), List.of(found.offset(), found.timestamp(), found.leaderEpoch().orElse(-1)));
        }
        return answer;
    }
}
