import build.buf.validate.Violations;
import com.google.protobuf.Any;
import com.google.rpc.BadRequest;
import com.google.rpc.ErrorInfo;
import io.grpc.ManagedChannel;
import io.grpc.ManagedChannelBuilder;
import io.grpc.Metadata;
import io.grpc.StatusRuntimeException;
import io.grpc.protobuf.StatusProto;
import io.grpc.stub.MetadataUtils;
import java.util.Map;
import java.util.stream.Collectors;
import keyturn.iam.webkey.v2beta.ActivateWebKeyRequest;
import keyturn.iam.webkey.v2beta.CreateWebKeyDetails;
import keyturn.iam.webkey.v2beta.CreateWebKeyRequest;
import keyturn.iam.webkey.v2beta.DeleteWebKeyRequest;
import keyturn.iam.webkey.v2beta.DeleteWebKeyResponse;
import keyturn.iam.webkey.v2beta.ECDSA;
import keyturn.iam.webkey.v2beta.EcdsaCurve;
import keyturn.iam.webkey.v2beta.ListWebKeysRequest;
import keyturn.iam.webkey.v2beta.State;
import keyturn.iam.webkey.v2beta.WebKey;
import keyturn.iam.webkey.v2beta.WebKeyConfig;
import keyturn.iam.webkey.v2beta.WebKeyServiceGrpc;
import keyturn.iam.webkey.v2beta.WebKeyServiceGrpc.WebKeyServiceBlockingStub;

/** Rotates a web key with the generated client, and reads what errors say. The test knows what it prints. */
public final class Client {
  public static void main(String[] args) throws Exception {
    ManagedChannel channel =
        ManagedChannelBuilder.forTarget(System.getenv("KEYTURN_TARGET")).usePlaintext().build();
    Metadata headers = new Metadata();
    headers.put(
        Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER),
        "Bearer " + System.getenv("KEYTURN_TOKEN"));
    WebKeyServiceBlockingStub keys =
        WebKeyServiceGrpc.newBlockingStub(channel)
            .withInterceptors(MetadataUtils.newAttachHeadersInterceptor(headers));
    try {
      rotate(keys);
    } finally {
      channel.shutdownNow();
    }
  }

  private static void rotate(WebKeyServiceBlockingStub keys) throws Exception {
    String old =
        states(keys).entrySet().stream()
            .filter(entry -> entry.getValue() == State.STATE_ACTIVE)
            .findFirst()
            .orElseThrow()
            .getKey();

    WebKeyConfig config =
        WebKeyConfig.newBuilder()
            .setEcdsa(ECDSA.newBuilder().setCurve(EcdsaCurve.ECDSA_CURVE_P256))
            .build();
    CreateWebKeyDetails created =
        keys.createWebKey(CreateWebKeyRequest.newBuilder().setConfig(config).build()).getDetails();
    System.out.println("created " + created.getState() + " " + created.getAlgorithm());

    ActivateWebKeyRequest activation =
        ActivateWebKeyRequest.newBuilder().setKeyId(created.getKeyId()).build();
    System.out.println("activated " + keys.activateWebKey(activation).getDetails().getState());

    Map<String, State> listed = states(keys);
    System.out.println("listed " + listed.get(old) + " " + listed.get(created.getKeyId()));

    for (Any detail : detailsOfDeleting(keys, created.getKeyId())) {
      if (detail.is(ErrorInfo.class)) {
        ErrorInfo info = detail.unpack(ErrorInfo.class);
        System.out.println("refused " + info.getReason() + " " + info.getDomain());
      }
    }

    for (Any detail : detailsOfDeleting(keys, "")) {
      if (detail.is(BadRequest.class)) {
        System.out.println("invalid " + detail.unpack(BadRequest.class).getFieldViolations(0).getField());
      } else if (detail.is(Violations.class)) {
        // The same for those who use protovalidate.
        String rule = detail.unpack(Violations.class).getViolations(0).getRuleId();
        if (!rule.equals("string.min_len")) throw new AssertionError(rule);
      }
    }

    // The last call: the token was signed by the key that is deleted.
    if (delete(keys, old).getDetails().hasChangeDate()) System.out.println("deleted");
  }

  private static Map<String, State> states(WebKeyServiceBlockingStub keys) {
    return keys.listWebKeys(ListWebKeysRequest.getDefaultInstance()).getWebKeysList().stream()
        .collect(Collectors.toMap(WebKey::getKeyId, WebKey::getState));
  }

  private static DeleteWebKeyResponse delete(WebKeyServiceBlockingStub keys, String keyId) {
    return keys.deleteWebKey(DeleteWebKeyRequest.newBuilder().setKeyId(keyId).build());
  }

  private static Iterable<Any> detailsOfDeleting(WebKeyServiceBlockingStub keys, String keyId) {
    try {
      delete(keys, keyId);
      throw new AssertionError("the call was not refused");
    } catch (StatusRuntimeException error) {
      return StatusProto.fromThrowable(error).getDetailsList();
    }
  }
}
