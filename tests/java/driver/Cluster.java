package driver;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.admin.DescribeClusterResult;
import org.apache.kafka.clients.admin.LogDirDescription;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.TopicPartition;

/** The cluster, its disks and its producers, with Kafka's admin client. */
final class Cluster {
    private final Clients clients;

    Cluster(Clients clients) {
        this.clients = clients;
    }

    void addTo(Map<String, Driver.Command> commands) {
        commands.put("cluster.describe", this::describe);
        commands.put("cluster.features", this::features);
        commands.put("cluster.log_dirs", this::logDirs);
        commands.put("cluster.producers", this::producers);
    }

    private Object describe(JsonNode call) throws Exception {
        DescribeClusterResult found = clients.admin().describeCluster();
        List<Object> nodes = new ArrayList<>();
        for (Node node : found.nodes().get()) {
            nodes.add(Map.of("id", node.id(), "host", node.host(), "port", node.port()));
        }
        return Map.of("id", found.clusterId().get(), "controller", found.controller().get().id(), "nodes", nodes);
    }

    private Object features(JsonNode call) throws Exception {
        var found = clients.admin().describeFeatures().featureMetadata().get();
        return Map.of("finalized", found.finalizedFeatures().keySet(), "supported", found.supportedFeatures().keySet());
    }

    /** The size of each partition in each directory of each broker. */
    private Object logDirs(JsonNode call) throws Exception {
        Map<String, Object> shown = new HashMap<>();
        var found = clients.admin().describeLogDirs(List.of(call.get("node").asInt())).allDescriptions().get();
        for (LogDirDescription folder : found.get(call.get("node").asInt()).values()) {
            folder.replicaInfos().forEach((partition, facts) -> shown.put(Clients.name(partition), facts.size()));
        }
        return shown;
    }

    private Object producers(JsonNode call) throws Exception {
        TopicPartition partition = Clients.partition(call.get("partition"));
        List<Object> shown = new ArrayList<>();
        clients.admin()
                .describeProducers(List.of(partition))
                .partitionResult(partition)
                .get()
                .activeProducers()
                .forEach(each -> shown.add(Map.of(
                        "id", each.producerId(),
                        "epoch", each.producerEpoch(),
                        "last_sequence", each.lastSequence(),
                        "last_timestamp", each.lastTimestamp(),
                        "coordinator_epoch", each.coordinatorEpoch().orElse(-1),
                        "transaction_start", each.currentTransactionStartOffset().orElse(-1))));
        return shown;
    }
}
