package driver;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import org.apache.kafka.clients.admin.ConsumerGroupDescription;
import org.apache.kafka.clients.admin.GroupListing;
import org.apache.kafka.clients.admin.MemberDescription;
import org.apache.kafka.clients.admin.MemberToRemove;
import org.apache.kafka.clients.admin.RemoveMembersFromConsumerGroupOptions;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;

/** Groups and their offsets, with Kafka's admin client. */
final class Groups {
    private final Clients clients;

    Groups(Clients clients) {
        this.clients = clients;
    }

    void addTo(Map<String, Driver.Command> commands) {
        commands.put("groups.list", this::list);
        commands.put("groups.describe", this::describe);
        commands.put("groups.delete", this::delete);
        commands.put("groups.remove", this::remove);
        commands.put("groups.offsets", this::offsets);
        commands.put("groups.alter_offsets", this::alterOffsets);
        commands.put("groups.delete_offsets", this::deleteOffsets);
    }

    private static String group(JsonNode call) {
        return call.get("group").asText();
    }

    private Object list(JsonNode call) throws Exception {
        Map<String, Object> shown = new HashMap<>();
        for (GroupListing each : clients.admin().listGroups().all().get()) {
            String type = each.type().map(Object::toString).orElse("");
            String state = each.groupState().map(Object::toString).orElse("");
            shown.put(each.groupId(), List.of(type, each.protocol(), state));
        }
        return shown;
    }

    private Object describe(JsonNode call) throws Exception {
        ConsumerGroupDescription found =
                clients.admin().describeConsumerGroups(List.of(group(call))).all().get().get(group(call));
        List<Object> members = new ArrayList<>();
        for (MemberDescription member : found.members()) {
            TreeSet<String> partitions = new TreeSet<>();
            member.assignment().topicPartitions().forEach(each -> partitions.add(Clients.name(each)));
            members.add(Map.of(
                    "id", member.consumerId(),
                    "instance", member.groupInstanceId().orElse(""),
                    "client", member.clientId(),
                    "host", member.host(),
                    "upgraded", member.upgraded().map(String::valueOf).orElse(""),
                    "assigned", new ArrayList<>(partitions)));
        }
        return Map.of(
                "type", found.type().toString(),
                "state", found.groupState().toString(),
                "assignor", found.partitionAssignor(),
                "coordinator", found.coordinator().id(),
                "members", members);
    }

    private Object delete(JsonNode call) throws Exception {
        clients.admin().deleteConsumerGroups(List.of(group(call))).all().get();
        return true;
    }

    /** Removes static members by their instance ids. */
    private Object remove(JsonNode call) throws Exception {
        List<MemberToRemove> members = new ArrayList<>();
        call.get("instances").forEach(each -> members.add(new MemberToRemove(each.asText())));
        var options = new RemoveMembersFromConsumerGroupOptions(members);
        clients.admin().removeMembersFromConsumerGroup(group(call), options).all().get();
        return true;
    }

    private Object offsets(JsonNode call) throws Exception {
        Map<String, Object> shown = new HashMap<>();
        clients.admin()
                .listConsumerGroupOffsets(group(call))
                .partitionsToOffsetAndMetadata()
                .get()
                .forEach((partition, at) ->
                        shown.put(Clients.name(partition), at == null ? null : List.of(at.offset(), at.metadata())));
        return shown;
    }

    private Object alterOffsets(JsonNode call) throws Exception {
        Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
        for (JsonNode each : call.get("offsets")) {
            offsets.put(Clients.partition(each), new OffsetAndMetadata(each.get(2).asLong(), each.path(3).asText("")));
        }
        clients.admin().alterConsumerGroupOffsets(group(call), offsets).all().get();
        return true;
    }

    private Object deleteOffsets(JsonNode call) throws Exception {
        var partitions = new HashSet<>(Clients.partitions(call.get("partitions")));
        clients.admin().deleteConsumerGroupOffsets(group(call), partitions).all().get();
        return true;
    }
}
