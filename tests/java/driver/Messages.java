package driver;

import com.fasterxml.jackson.databind.JsonNode;
import java.lang.reflect.InvocationTargetException;
import java.nio.ByteBuffer;
import org.apache.kafka.common.message.ApiMessageType;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.MessageUtil;

/** Kafka's own message classes, which it makes from its schemas: to and from JSON, to and from bytes. */
final class Messages {
    private Messages() {}

    static Class<?> classOf(ApiMessageType api, boolean request) {
        return (request ? api.newRequest() : api.newResponse()).getClass();
    }

    static ApiMessage fromJson(Class<?> of, JsonNode json, short version) throws Exception {
        try {
            return (ApiMessage) converter(of).getMethod("read", JsonNode.class, short.class).invoke(null, json, version);
        } catch (InvocationTargetException failure) {
            throw (Exception) failure.getCause();
        }
    }

    /** Of records only the size is told. */
    static JsonNode toJson(ApiMessage message, short version) throws Exception {
        Class<?> of = message.getClass();
        var write = converter(of).getMethod("write", of, short.class, boolean.class);
        return (JsonNode) write.invoke(null, message, version, false);
    }

    private static Class<?> converter(Class<?> of) throws ClassNotFoundException {
        return Class.forName(of.getName() + "JsonConverter");
    }

    static byte[] toBytes(ApiMessage message, short version) {
        return MessageUtil.byteBufferToArray(MessageUtil.toByteBufferAccessor(message, version).buffer());
    }

    /** Reads a message, which must take all the bytes that there are. */
    static ApiMessage fromBytes(ApiMessageType api, boolean request, ByteBuffer bytes, short version) {
        ApiMessage message = request ? api.newRequest() : api.newResponse();
        message.read(new ByteBufferAccessor(bytes), version);
        if (bytes.hasRemaining()) {
            throw new IllegalStateException(bytes.remaining() + " bytes are left behind the message");
        }
        return message;
    }
}
