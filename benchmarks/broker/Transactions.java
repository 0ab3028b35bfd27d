import java.util.Arrays;
import java.util.Map;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * A child of the benchmark: transactions of some records each with Kafka's Java producer, and the same without them.
 *
 * <p>Transactions.java ADDRESS TOPIC SIZE RECORDS COUNT prints how many it has committed in a second, one after the
 * other, how long one took, and how long the same records took without a transaction.
 */
public final class Transactions {
    private static final int WARM_UP = 200;

    public static void main(String[] arguments) {
        String topic = arguments[1];
        byte[] value = new byte[Integer.parseInt(arguments[2])];
        int records = Integer.parseInt(arguments[3]);
        int count = Integer.parseInt(arguments[4]);
        Map<String, Object> id = Map.of("transactional.id", "bench-" + System.nanoTime());
        double[][] took;
        try (KafkaProducer<byte[], byte[]> plain = producer(arguments[0], Map.of());
                KafkaProducer<byte[], byte[]> whole = producer(arguments[0], id)) {
            whole.initTransactions();
            took = measure(
                    count,
                    () -> {
                        send(plain, topic, value, records);
                        plain.flush();
                    },
                    () -> {
                        whole.beginTransaction();
                        send(whole, topic, value, records);
                        whole.commitTransaction();
                    });
        }
        System.out.printf(
                "transactions_per_second=%f p50_ms=%f p99_ms=%f plain_p50_ms=%f%n",
                1000 / Arrays.stream(took[1]).average().orElseThrow(),
                at(took[1], 0.5),
                at(took[1], 0.99),
                at(took[0], 0.5));
    }

    private static KafkaProducer<byte[], byte[]> producer(String address, Map<String, Object> more) {
        Map<String, Object> settings = new java.util.HashMap<>(more);
        settings.put("bootstrap.servers", address);
        settings.put("linger.ms", 0);
        settings.put("enable.metrics.push", false);
        return new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer());
    }

    private static void send(KafkaProducer<byte[], byte[]> producer, String topic, byte[] value, int records) {
        for (int number = 0; number < records; number++) {
            producer.send(new ProducerRecord<>(topic, 0, null, value));
        }
    }

    /**
     * Milliseconds of each, once the JVM has warmed up. They take turns: the JVM gets faster all the time, and what came
     * last would look cheaper than what came first.
     */
    private static double[][] measure(int count, Runnable... ways) {
        double[][] took = new double[ways.length][count];
        for (int number = -WARM_UP; number < count; number++) {
            for (int way = 0; way < ways.length; way++) {
                long started = System.nanoTime();
                ways[way].run();
                if (number >= 0) {
                    took[way][number] = (System.nanoTime() - started) / 1e6;
                }
            }
        }
        return took;
    }

    private static double at(double[] took, double part) {
        double[] sorted = took.clone();
        Arrays.sort(sorted);
        return sorted[(int) (part * (sorted.length - 1))];
    }
}
