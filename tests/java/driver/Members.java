package driver;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;

/** Members of groups that live from call to call, by the names the test gives them. */
final class Members {
    private final Clients clients;
    private final Map<String, Member> members = new HashMap<>();

    Members(Clients clients) {
        this.clients = clients;
    }

    void addTo(Map<String, Driver.Command> commands) {
        commands.put("member.join", this::join);
        commands.put("member.settle", this::settle);
        commands.put("member.read", call -> member(call).read(call.get("count").asInt()));
        commands.put("member.seek", this::seek);
        commands.put("member.commit", this::commit);
        commands.put("member.committed", this::committed);
        commands.put("member.leave", this::leave);
    }

    private Member member(JsonNode call) {
        return members.get(call.get("member").asText());
    }

    /** Reads "topics", or those that fit a "pattern"; the broker finds them where the protocol is the new one. */
    private Object join(JsonNode call) {
        Member member = new Member(clients.consumer(call));
        if (call.has("pattern")) {
            boolean byBroker = call.get("config").path("group.protocol").asText().equals("consumer");
            member.subscribe(call.get("pattern").asText(), byBroker);
        } else {
            List<String> topics = new ArrayList<>();
            call.get("topics").forEach(each -> topics.add(each.asText()));
            member.subscribe(topics);
        }
        members.put(call.get("member").asText(), member);
        return true;
    }

    /** Polls the members in turn until each has as many partitions as {"a": 2, "b": 2} says. */
    private Object settle(JsonNode call) {
        Map<String, Integer> wanted = new HashMap<>();
        call.get("members").forEachEntry((name, value) -> wanted.put(name, value.asInt()));
        long end = System.nanoTime() + 20_000_000_000L;
        while (!wanted.entrySet().stream().allMatch(each -> members.get(each.getKey()).has(each.getValue()))) {
            if (System.nanoTime() > end) {
                throw new IllegalStateException("the group did not settle: " + shown(wanted.keySet()));
            }
            wanted.keySet().forEach(name -> members.get(name).poll(50));
        }
        return shown(wanted.keySet());
    }

    private Map<String, Object> shown(Collection<String> names) {
        Map<String, Object> shown = new HashMap<>();
        names.forEach(name -> shown.put(name, members.get(name).shown()));
        return shown;
    }

    private Object seek(JsonNode call) {
        member(call).seek(Clients.partition(call.get("partition")), call.get("offset").asLong());
        return true;
    }

    /** Commits [["topic", 0, offset, "metadata"], …], or all that was read; "async" waits for the callback. */
    private Object commit(JsonNode call) {
        Map<TopicPartition, OffsetAndMetadata> offsets = null;
        if (call.has("offsets")) {
            offsets = new HashMap<>();
            for (JsonNode each : call.get("offsets")) {
                offsets.put(Clients.partition(each), new OffsetAndMetadata(each.get(2).asLong(), each.path(3).asText("")));
            }
        }
        member(call).commit(offsets, call.path("async").asBoolean());
        return true;
    }

    private Object committed(JsonNode call) {
        return member(call).committed(Clients.partitions(call.get("partitions")));
    }

    private Object leave(JsonNode call) {
        members.remove(call.get("member").asText()).close();
        return true;
    }
}
