package driver;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.DataInputStream;
import java.io.IOException;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.Map;
import java.util.TreeMap;
import org.apache.kafka.common.message.RequestHeaderData;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.ObjectSerializationCache;
import org.apache.kafka.common.requests.AbstractResponse;
import org.apache.kafka.common.requests.RequestHeader;
import org.apache.kafka.common.requests.ResponseHeader;

/** Sends single requests in any version and reads the answers as strictly as Kafka's message classes can. */
final class Wire {
    private final String host;
    private final int port;
    private int correlation = 1;

    Wire(String bootstrap) {
        int colon = bootstrap.lastIndexOf(':');
        host = bootstrap.substring(0, colon);
        port = Integer.parseInt(bootstrap.substring(colon + 1));
    }

    void addTo(Map<String, Driver.Command> commands) {
        commands.put("wire.exchange", this::exchange);
        commands.put("wire.unknown_version", this::unknownVersion);
        commands.put("wire.ranges", this::ranges);
    }

    /** Which versions Kafka's own brokers serve. */
    private Object ranges(JsonNode call) {
        Map<Integer, Object> ranges = new TreeMap<>();
        for (ApiKeys key : ApiKeys.brokerApis()) {
            ranges.put((int) key.id, new int[] {key.oldestVersion(), key.latestVersion(false)});
        }
        return ranges;
    }

    private Object exchange(JsonNode call) throws Exception {
        ApiKeys key = ApiKeys.forId(call.get("api").asInt());
        short version = (short) call.get("version").asInt();
        JsonNode json = Fields.only(key.messageType.requestSchemas()[version], call.get("request"));
        ApiMessage request = Messages.fromJson(Messages.classOf(key.messageType, true), json, version);
        RequestHeader header = new RequestHeader(key, version, "wire", correlation++);
        byte[] answer = answer(header.data(), header.headerVersion(), Messages.toBytes(request, version));
        Map<String, Integer> errors = new TreeMap<>();
        AbstractResponse.parseResponse(ByteBuffer.wrap(answer), header)
                .errorCounts()
                .forEach((error, count) -> errors.put(error.toString(), count));
        return Map.of("errors", errors, "response", read(key, version, header.correlationId(), answer));
    }

    /** Asks for ApiVersions in a version that nobody knows; the answer is in version 0. */
    private Object unknownVersion(JsonNode call) throws Exception {
        RequestHeaderData header = new RequestHeaderData()
                .setRequestApiKey(ApiKeys.API_VERSIONS.id)
                .setRequestApiVersion((short) 99)
                .setCorrelationId(correlation++)
                .setClientId("wire");
        byte[] body = {7, 7, 7};
        byte[] answer = answer(header, (short) 2, body);
        return Map.of("response", read(ApiKeys.API_VERSIONS, (short) 0, header.correlationId(), answer));
    }

    private byte[] answer(RequestHeaderData header, short headerVersion, byte[] body) throws IOException {
        try (Socket socket = new Socket(host, port)) {
            socket.setSoTimeout(15_000);
            ObjectSerializationCache cache = new ObjectSerializationCache();
            int size = header.size(cache, headerVersion) + body.length;
            ByteBuffer frame = ByteBuffer.allocate(4 + size).putInt(size);
            header.write(new ByteBufferAccessor(frame), cache, headerVersion);
            socket.getOutputStream().write(frame.put(body).array());
            DataInputStream in = new DataInputStream(socket.getInputStream());
            byte[] answer = new byte[in.readInt()];
            in.readFully(answer);
            return answer;
        }
    }

    /** The answer as JSON, once it is sure that nothing is left of it and that Kafka would have sent the same bytes. */
    private JsonNode read(ApiKeys key, short version, int sent, byte[] answer) throws Exception {
        ByteBuffer bytes = ByteBuffer.wrap(answer);
        ResponseHeader header = ResponseHeader.parse(bytes, key.responseHeaderVersion(version));
        if (header.correlationId() != sent) {
            throw new IllegalStateException("the answer is to request " + header.correlationId());
        }
        byte[] body = Arrays.copyOfRange(answer, bytes.position(), answer.length);
        ApiMessage message = Messages.fromBytes(key.messageType, false, bytes, version);
        byte[] again = Messages.toBytes(message, version);
        if (!Arrays.equals(again, body)) {
            HexFormat hex = HexFormat.of();
            throw new IllegalStateException(
                    "Kafka would have written " + hex.formatHex(again) + ", not " + hex.formatHex(body));
        }
        return Messages.toJson(message, version);
    }
}
