package driver;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;
import org.apache.kafka.common.message.ApiMessageType;
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
        commands.put("wire.ranges", this::ranges);
    }

    /** Which versions Kafka's own brokers serve. */
    private Object ranges(JsonNode call) {
        Map<Integer, Object> ranges = new TreeMap<>();
        for (ApiKeys key : ApiKeys.brokerApis()) {
            ranges.put((int) key.id, new int[] {key.oldestVersion(), key.latestVersion()});
        }
        return ranges;
    }

    private Object exchange(JsonNode call) throws Exception {
        ApiKeys key = ApiKeys.forId(call.get("api").asInt());
        short version = (short) call.get("version").asInt();
        ApiMessage request = Messages.fromJson(Messages.classOf(key.messageType, true), call.get("request"), version);
        RequestHeader header = new RequestHeader(key, version, "wire", correlation++);
        byte[] answer = answer(header, Messages.toBytes(request, version));
        return read(key, version, header, answer, call.path("answered_in").asInt(version));
    }

    private byte[] answer(RequestHeader header, byte[] body) throws IOException {
        try (Socket socket = new Socket(host, port)) {
            socket.setSoTimeout(15_000);
            DataOutputStream out = new DataOutputStream(socket.getOutputStream());
            ByteBuffer frame = ByteBuffer.allocate(4 + header.size() + body.length);
            frame.putInt(header.size() + body.length);
            short headerVersion = header.headerVersion();
            header.data().write(new ByteBufferAccessor(frame), new ObjectSerializationCache(), headerVersion);
            frame.put(body);
            out.write(frame.array());
            out.flush();
            DataInputStream in = new DataInputStream(socket.getInputStream());
            byte[] answer = new byte[in.readInt()];
            in.readFully(answer);
            return answer;
        }
    }

    /** The answer as JSON, once it is sure that nothing is left of it and that Kafka would have sent the same bytes. */
    private Object read(ApiKeys key, short version, RequestHeader sent, byte[] answer, int answeredIn) throws Exception {
        ByteBuffer bytes = ByteBuffer.wrap(answer);
        ResponseHeader header = ResponseHeader.parse(bytes, key.responseHeaderVersion(version));
        if (header.correlationId() != sent.correlationId()) {
            throw new IllegalStateException("the answer is to request " + header.correlationId());
        }
        byte[] body = Arrays.copyOfRange(answer, bytes.position(), answer.length);
        ApiMessage message = Messages.fromBytes(key.messageType, false, bytes, (short) answeredIn);
        byte[] again = Messages.toBytes(message, (short) answeredIn);
        if (!Arrays.equals(again, body)) {
            throw new IllegalStateException("Kafka would have written " + hex(again) + ", not " + hex(body));
        }
        var parsed = AbstractResponse.parseResponse(ByteBuffer.wrap(answer), sent);
        Map<String, Integer> errors = new TreeMap<>();
        parsed.errorCounts().forEach((error, count) -> errors.put(error.toString(), count));
        Map<String, Object> result = new HashMap<>();
        result.put("errors", errors);
        result.put("response", Messages.toJson(message, (short) answeredIn));
        return result;
    }

    private static String hex(byte[] bytes) {
        return java.util.HexFormat.of().formatHex(bytes);
    }
}
