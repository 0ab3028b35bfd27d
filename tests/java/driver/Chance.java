package driver;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Random;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.protocol.types.Schema;
import org.apache.kafka.common.protocol.types.Type;

/** Random values for every type of Kafka's schemas, as the JSON that Kafka's message classes read. */
final class Chance {
    private static final JsonNodeFactory NODES = JsonNodeFactory.instance;
    private static final String[] LETTERS = {"a", "é", "€", "😀", "\0"};
    private static final int[] SIZES = {0, 1, 3, 126, 127, 128}; // Around the edge of a varint's first byte.

    private final Random random;

    Chance(Random random) {
        this.random = random;
    }

    ObjectNode struct(Schema schema) {
        ObjectNode struct = NODES.objectNode();
        Fields.of(schema).forEach((name, type) -> struct.set(name, value(type)));
        return struct;
    }

    private JsonNode value(Type type) {
        if (type.isNullable() && random.nextInt(4) == 0) {
            return NODES.nullNode();
        }
        if (type.isArray()) {
            ArrayNode array = NODES.arrayNode();
            for (int left = random.nextInt(4); left > 0; left--) {
                array.add(value(type.arrayElementType().get()));
            }
            return array;
        }
        return type instanceof Schema ? struct((Schema) type) : simple(type.toString());
    }

    private JsonNode simple(String type) {
        switch (type.replace("COMPACT_", "").replace("NULLABLE_", "")) {
            case "BOOLEAN":
                return NODES.booleanNode(random.nextBoolean());
            case "INT8":
                return NODES.numberNode((byte) number(8));
            case "INT16":
                return NODES.numberNode((short) number(16));
            case "UINT16":
                return NODES.numberNode((int) number(16) & 0xffff);
            case "INT32":
                return NODES.numberNode((int) number(32));
            case "UINT32":
                return NODES.numberNode(number(32) & 0xffffffffL);
            case "INT64":
                return NODES.numberNode(number(64));
            case "FLOAT64":
                return NODES.numberNode(random.nextGaussian());
            case "UUID":
                return NODES.textNode(new Uuid(random.nextLong(), random.nextLong()).toString());
            case "STRING":
                return NODES.textNode(string());
            case "BYTES":
            case "RECORDS":
                return NODES.binaryNode(bytes());
            default:
                throw new IllegalArgumentException("no random value for " + type);
        }
    }

    /** Often one of the numbers where things go wrong. */
    private long number(int bits) {
        long most = (1L << (bits - 1)) - 1;
        long[] edges = {0, 1, -1, most, -most - 1};
        return random.nextBoolean() ? edges[random.nextInt(edges.length)] : random.nextLong() >> (64 - bits);
    }

    private String string() {
        StringBuilder string = new StringBuilder();
        for (int left = SIZES[random.nextInt(SIZES.length)]; left > 0; left--) {
            string.append(LETTERS[random.nextInt(LETTERS.length)]);
        }
        return string.toString();
    }

    private byte[] bytes() {
        byte[] bytes = new byte[SIZES[random.nextInt(SIZES.length)]];
        random.nextBytes(bytes);
        return bytes;
    }
}
