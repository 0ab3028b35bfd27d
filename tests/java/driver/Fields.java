package driver;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.kafka.common.protocol.types.BoundField;
import org.apache.kafka.common.protocol.types.Field;
import org.apache.kafka.common.protocol.types.Schema;
import org.apache.kafka.common.protocol.types.TaggedFields;
import org.apache.kafka.common.protocol.types.Type;

/** The fields of one version of a message, also the tagged ones, by the names that they have in JSON. */
final class Fields {
    private Fields() {}

    static Map<String, Type> of(Schema schema) {
        Map<String, Type> fields = new LinkedHashMap<>();
        for (BoundField field : schema.fields()) {
            if (field.def.type instanceof TaggedFields) {
                for (Field tagged : ((TaggedFields) field.def.type).fields().values()) {
                    fields.put(camel(tagged.name), tagged.type);
                }
            } else {
                fields.put(camel(field.def.name), field.def.type);
            }
        }
        return fields;
    }

    /** A copy of a message without what this version does not have. */
    static JsonNode only(Type type, JsonNode json) {
        if (type.isArray() && json.isArray()) {
            ArrayNode array = JsonNodeFactory.instance.arrayNode();
            json.forEach(item -> array.add(only(type.arrayElementType().get(), item)));
            return array;
        }
        if (!(type instanceof Schema) || !json.isObject()) {
            return json;
        }
        ObjectNode struct = JsonNodeFactory.instance.objectNode();
        of((Schema) type).forEach((name, inner) -> {
            if (json.has(name)) {
                struct.set(name, only(inner, json.get(name)));
            }
        });
        return struct;
    }

    /** Schemas say topic_id where JSON says topicId. */
    private static String camel(String name) {
        StringBuilder camel = new StringBuilder();
        for (String word : name.split("_")) {
            camel.append(camel.length() == 0 ? word : word.substring(0, 1).toUpperCase() + word.substring(1));
        }
        return camel.toString();
    }
}
