import com.zitadel.ApiException;
import com.zitadel.Zitadel;
import com.zitadel.api.BetaWebKeyServiceApi;
import com.zitadel.api.WebKeyServiceApi;
import com.zitadel.model.BetaWebKeyServiceActivateWebKeyRequest;
import com.zitadel.model.BetaWebKeyServiceCreateWebKeyRequest;
import com.zitadel.model.BetaWebKeyServiceDeleteWebKeyRequest;
import com.zitadel.model.BetaWebKeyServiceECDSA;
import com.zitadel.model.BetaWebKeyServiceECDSACurve;
import com.zitadel.model.WebKeyServiceActivateWebKeyRequest;
import com.zitadel.model.WebKeyServiceCreateWebKeyRequest;
import com.zitadel.model.WebKeyServiceDeleteWebKeyRequest;
import com.zitadel.model.WebKeyServiceECDSA;
import com.zitadel.model.WebKeyServiceECDSACurve;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Rotates web keys with ZITADEL's client. The test knows what it prints. */
public final class Client {
  private static final Pattern REFUSAL =
      Pattern.compile("\"code\":\"(\\w+)\".*\"reason\":\"([A-Z_]+)\",\"domain\"", Pattern.DOTALL);

  /** A key, whichever of the two services it is from. */
  private record Key(String id, String state, String kind) {}

  /** The calls of a service, whichever of the two it is. */
  private interface Keys {
    /** @param curve The curve of an ECDSA key; null asks for nothing. */
    String create(String curve) throws Exception;

    Object activate(String id) throws Exception;

    boolean delete(String id) throws Exception;

    List<Key> list() throws Exception;
  }

  private interface Call {
    Object run() throws Exception;
  }

  public static void main(String[] args) throws Exception {
    Map<String, String> env = System.getenv();
    String url = env.get("ZITADEL_URL");
    String clientId = env.get("ZITADEL_CLIENT_ID");
    Zitadel zitadel = Zitadel.withClientCredentials(url, clientId, env.get("ZITADEL_CLIENT_SECRET"));
    Zitadel viewer = Zitadel.withAccessToken(url, env.get("ZITADEL_VIEWER_TOKEN"));
    System.out.println("v2");
    live(v2(zitadel.webkeys), v2(viewer.webkeys));
    System.out.println("v2beta");
    live(v2beta(zitadel.betaWebkeys), v2beta(viewer.betaWebkeys));
    try {
      Zitadel.withClientCredentials(url, clientId, "wrong").webkeys.listWebKeys(Map.of());
    } catch (Exception error) {
      String text = String.valueOf(error);
      System.out.println("a wrong secret: " + (text.contains("invalid_client") ? "invalid_client" : text));
    }
  }

  private static void live(Keys keys, Keys others) throws Exception {
    String plain = keys.create(null);
    System.out.println("nothing asked for: " + find(keys, plain).kind());
    System.out.println("deleted while initial: " + keys.delete(plain) + ", again: " + keys.delete(plain));

    String old =
        keys.list().stream().filter(key -> key.state().equals("STATE_ACTIVE")).findFirst().orElseThrow().id();
    String id = keys.create("ECDSA_CURVE_P256");
    System.out.println("created " + find(keys, id).state() + " " + find(keys, id).kind());
    keys.activate(id);
    System.out.println("activated " + find(keys, old).state() + " " + find(keys, id).state());

    System.out.println("delete the active key: " + refusalOf(() -> keys.delete(id)));
    System.out.println("activate an unknown key: " + refusalOf(() -> keys.activate("unknown")));
    System.out.println("activate no key: " + refusalOf(() -> keys.activate("")));
    System.out.println("create without the permission: " + refusalOf(() -> others.create(null)));

    keys.activate(old);
    System.out.println("rolled back and deleted: " + keys.delete(id));
  }

  private static Key find(Keys keys, String id) throws Exception {
    return keys.list().stream().filter(key -> key.id().equals(id)).findFirst().orElseThrow();
  }

  /** The code and the reason of the error that a call ends with. */
  private static String refusalOf(Call call) throws Exception {
    try {
      call.run();
    } catch (ApiException error) {
      Matcher refusal = REFUSAL.matcher(String.valueOf(error.getResponseBody()));
      return refusal.find() ? refusal.group(1) + " " + refusal.group(2) : String.valueOf(error);
    }
    throw new IllegalStateException("the call was not refused");
  }

  private static Keys v2(WebKeyServiceApi api) {
    return new Keys() {
      public String create(String curve) throws Exception {
        WebKeyServiceCreateWebKeyRequest request = new WebKeyServiceCreateWebKeyRequest();
        if (curve != null) {
          request.ecdsa(new WebKeyServiceECDSA().curve(WebKeyServiceECDSACurve.fromValue(curve)));
        }
        return api.createWebKey(request).getId();
      }

      public Object activate(String id) throws Exception {
        return api.activateWebKey(new WebKeyServiceActivateWebKeyRequest().id(id));
      }

      public boolean delete(String id) throws Exception {
        return api.deleteWebKey(new WebKeyServiceDeleteWebKeyRequest().id(id)).getDeletionDate() != null;
      }

      public List<Key> list() throws Exception {
        return api.listWebKeys(Map.of()).getWebKeys().stream()
            .map(key -> new Key(key.getId(), key.getState().toString(), key.getEcdsa() == null
                ? key.getRsa().getBits() + " " + key.getRsa().getHasher()
                : key.getEcdsa().getCurve().toString()))
            .toList();
      }
    };
  }

  private static Keys v2beta(BetaWebKeyServiceApi api) {
    return new Keys() {
      public String create(String curve) throws Exception {
        BetaWebKeyServiceCreateWebKeyRequest request = new BetaWebKeyServiceCreateWebKeyRequest();
        if (curve != null) {
          request.ecdsa(new BetaWebKeyServiceECDSA().curve(BetaWebKeyServiceECDSACurve.fromValue(curve)));
        }
        return api.createWebKey(request).getId();
      }

      public Object activate(String id) throws Exception {
        return api.activateWebKey(new BetaWebKeyServiceActivateWebKeyRequest().id(id));
      }

      public boolean delete(String id) throws Exception {
        return api.deleteWebKey(new BetaWebKeyServiceDeleteWebKeyRequest().id(id)).getDeletionDate() != null;
      }

      public List<Key> list() throws Exception {
        return api.listWebKeys(Map.of()).getWebKeys().stream()
            .map(key -> new Key(key.getId(), key.getState().toString(), key.getEcdsa() == null
                ? key.getRsa().getBits() + " " + key.getRsa().getHasher()
                : key.getEcdsa().getCurve().toString()))
            .toList();
      }
    };
  }
}
