package driver;

import com.fasterxml.jackson.databind.JsonNode;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import org.apache.kafka.clients.admin.ShareGroupDescription;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/** Share consumers that live from call to call, by the names the test gives them. */
final class Shares {
    private final Clients clients;
    private final Map<String, KafkaShareConsumer<byte[], byte[]>> consumers = new HashMap<>();
    private final Map<String, List<Object>> failures = new HashMap<>();

    Shares(Clients clients) {
        this.clients = clients;
    }

    void addTo(Map<String, Driver.Command> commands) {
        commands.put("share.join", this::join);
        commands.put("share.read", this::read);
        commands.put("share.commit", this::commit);
        commands.put("share.leave", this::leave);
        commands.put("share.describe", this::describe);
        commands.put("share.offsets", this::offsets);
        commands.put("share.delete", this::delete);
    }

    private Object join(JsonNode call) {
        String member = call.get("member").asText();
        KafkaShareConsumer<byte[], byte[]> consumer = new KafkaShareConsumer<>(
                clients.settings(call), new ByteArrayDeserializer(), new ByteArrayDeserializer());
        List<Object> failed = new ArrayList<>();
        consumer.setAcknowledgementCommitCallback((offsets, failure) -> {
            if (failure != null) {
                failed.add(failure.getClass().getSimpleName());
            }
        });
        List<String> topics = new ArrayList<>();
        call.get("topics").forEach(each -> topics.add(each.asText()));
        consumer.subscribe(topics);
        consumers.put(member, consumer);
        failures.put(member, failed);
        return true;
    }

    /** Polls until there are "count" records or "ms" are over; each is judged as {"0": "RELEASE"} says, or not at all. */
    private Object read(JsonNode call) {
        KafkaShareConsumer<byte[], byte[]> consumer = consumers.get(call.get("member").asText());
        long end = System.nanoTime() + call.path("ms").asLong(15_000) * 1_000_000L;
        int count = call.get("count").asInt();
        List<Object> read = new ArrayList<>();
        do {
            for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(200))) {
                read.add(List.of(record.partition(), record.offset(), record.deliveryCount().orElse((short) 0),
                        new String(record.value())));
                JsonNode verdict = call.path("verdicts").path(String.valueOf(record.offset()));
                String said = verdict.isMissingNode() ? call.path("verdict").asText("") : verdict.asText();
                if (!said.isEmpty()) {
                    consumer.acknowledge(record, AcknowledgeType.valueOf(said));
                }
            }
        } while (read.size() < count && System.nanoTime() < end);
        return read;
    }

    /** What went wrong with what was acknowledged since the last call, by partition; and since then by callback. */
    private Object commit(JsonNode call) {
        String member = call.get("member").asText();
        Map<String, Object> shown = new LinkedHashMap<>();
        consumers.get(member).commitSync(Duration.ofSeconds(10)).forEach((partition, failure) -> shown.put(
                partition.topicPartition().partition() + "",
                failure.map(each -> each.getClass().getSimpleName()).orElse("")));
        return Map.of("committed", shown, "failed", failures.get(member));
    }

    private Object leave(JsonNode call) {
        consumers.remove(call.get("member").asText()).close(Duration.ofSeconds(5));
        return true;
    }

    private Object describe(JsonNode call) throws Exception {
        String group = call.get("group").asText();
        ShareGroupDescription found =
                clients.admin().describeShareGroups(List.of(group)).all().get().get(group);
        List<Object> members = new ArrayList<>();
        found.members().forEach(member -> {
            TreeSet<String> partitions = new TreeSet<>();
            member.assignment().topicPartitions().forEach(each -> partitions.add(Clients.name(each)));
            members.add(new ArrayList<>(partitions));
        });
        return Map.of("state", found.groupState().toString(), "members", members);
    }

    private Object offsets(JsonNode call) throws Exception {
        String group = call.get("group").asText();
        Map<String, Object> shown = new HashMap<>();
        var spec = new org.apache.kafka.clients.admin.ListShareGroupOffsetsSpec();
        clients.admin().listShareGroupOffsets(Map.of(group, spec)).partitionsToOffsetInfo(group).get()
                .forEach((partition, at) -> shown.put(
                        Clients.name(partition), List.of(at.startOffset(), at.lag().orElse(-1L))));
        return shown;
    }

    private Object delete(JsonNode call) throws Exception {
        clients.admin().deleteShareGroups(List.of(call.get("group").asText())).all().get();
        return true;
    }
}
