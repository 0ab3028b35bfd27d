import java.io.FileReader;
import java.time.Duration;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** EveryWay TOPIC FILE…: with each file of settings in turn, a topic, a record, and a group that reads it. */
public class EveryWay {
    public static void main(String[] arguments) throws Exception {
        for (int number = 1; number < arguments.length; number++) {
            Properties settings = new Properties();
            try (FileReader file = new FileReader(arguments[number])) {
                settings.load(file);
            }
            System.out.println(read(settings, arguments[0] + "-" + number));
        }
    }

    private static String read(Properties settings, String topic) throws Exception {
        try (Admin admin = Admin.create(settings)) {
            admin.createTopics(List.of(new NewTopic(topic, 1, (short) 1))).all().get(30, TimeUnit.SECONDS);
        }
        try (KafkaProducer<String, String> producer =
                new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer())) {
            producer.send(new ProducerRecord<>(topic, "value of " + topic)).get(30, TimeUnit.SECONDS);
        }
        settings.put("group.id", topic);
        settings.put("auto.offset.reset", "earliest");
        try (KafkaConsumer<String, String> consumer =
                new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer())) {
            consumer.subscribe(List.of(topic));
            for (int turn = 0; turn < 30; turn++) {
                for (var record : consumer.poll(Duration.ofSeconds(1))) {
                    consumer.commitSync();
                    return record.value();
                }
            }
        }
        return "nothing";
    }
}
