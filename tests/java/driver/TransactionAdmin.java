package driver;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import org.apache.kafka.clients.admin.AbortTransactionSpec;
import org.apache.kafka.clients.admin.ListTransactionsOptions;
import org.apache.kafka.clients.admin.TransactionDescription;
import org.apache.kafka.clients.admin.TransactionListing;
import org.apache.kafka.clients.admin.TransactionState;
import org.apache.kafka.common.acl.AccessControlEntry;
import org.apache.kafka.common.acl.AclBinding;
import org.apache.kafka.common.acl.AclBindingFilter;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.acl.AclPermissionType;
import org.apache.kafka.common.resource.PatternType;
import org.apache.kafka.common.resource.ResourcePattern;
import org.apache.kafka.common.resource.ResourceType;

/** What operators see of transactions and can do about them, and access control, with Kafka's admin client. */
final class TransactionAdmin {
    private final Clients clients;

    TransactionAdmin(Clients clients) {
        this.clients = clients;
    }

    void addTo(Map<String, Driver.Command> commands) {
        commands.put("transactions.list", this::list);
        commands.put("transactions.describe", this::describe);
        commands.put("transactions.abort", this::abort);
        commands.put("transactions.fence", this::fence);
        commands.put("acls.describe", call -> clients.admin().describeAcls(AclBindingFilter.ANY).values().get());
        commands.put("acls.create", call -> clients.admin().createAcls(List.of(acl())).all().get());
        commands.put("acls.delete", call -> clients.admin().deleteAcls(List.of(AclBindingFilter.ANY)).all().get());
    }

    private static AclBinding acl() {
        return new AclBinding(
                new ResourcePattern(ResourceType.TOPIC, "any", PatternType.LITERAL),
                new AccessControlEntry("User:any", "*", AclOperation.READ, AclPermissionType.ALLOW));
    }

    /** Transactional ids and their states, of those in "states" if the call says so. */
    private Object list(JsonNode call) throws Exception {
        List<TransactionState> states = new ArrayList<>();
        call.path("states").forEach(each -> states.add(TransactionState.parse(each.asText())));
        Map<String, Object> shown = new HashMap<>();
        var options = new ListTransactionsOptions().filterStates(states);
        for (TransactionListing each : clients.admin().listTransactions(options).all().get()) {
            shown.put(each.transactionalId(), each.state().toString());
        }
        return shown;
    }

    private Object describe(JsonNode call) throws Exception {
        String id = call.get("id").asText();
        TransactionDescription found = clients.admin().describeTransactions(List.of(id)).description(id).get();
        TreeSet<String> partitions = new TreeSet<>();
        found.topicPartitions().forEach(each -> partitions.add(Clients.name(each)));
        return Map.of(
                "state", found.state().toString(),
                "producer", found.producerId(),
                "epoch", found.producerEpoch(),
                "timeout_ms", found.transactionTimeoutMs(),
                "started", found.transactionStartTimeMs().isPresent(),
                "partitions", new ArrayList<>(partitions));
    }

    /** Ends what a producer has open in one partition, as for one whose coordinator knows nothing of it. */
    private Object abort(JsonNode call) throws Exception {
        var spec = new AbortTransactionSpec(
                Clients.partition(call.get("partition")),
                call.get("id").asLong(),
                (short) call.get("epoch").asInt(),
                call.get("coordinator_epoch").asInt());
        clients.admin().abortTransaction(spec).all().get();
        return true;
    }

    private Object fence(JsonNode call) throws Exception {
        var fenced = clients.admin().fenceProducers(List.of(call.get("id").asText()));
        fenced.all().get();
        return fenced.epochId(call.get("id").asText()).get();
    }
}
