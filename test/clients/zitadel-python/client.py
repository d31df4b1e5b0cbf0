"""Rotates web keys with ZITADEL's client. The test knows what it prints."""

import os

import zitadel_client.models
from zitadel_client import ApiError, Zitadel, ZitadelError
from zitadel_client.auth.client_credentials_authenticator import ClientCredentialsAuthenticator

URL = os.environ["ZITADEL_URL"]


def sign_in(secret):
    builder = ClientCredentialsAuthenticator.builder(URL, os.environ["ZITADEL_CLIENT_ID"], secret)
    return Zitadel(builder.build())


def refusal_of(call):
    """The code and the reason of the error that a call ends with."""
    try:
        call()
    except ApiError as error:
        body = error.response_body
        return f"{body['code']} {body['details'][-1]['debug']['reason']}"
    raise SystemExit("the call was not refused")


def live(keys, others, prefix):
    def model(name):
        return getattr(zitadel_client.models, prefix + name)

    def create(api=keys, **kind):
        return api.create_web_key(model("CreateWebKeyRequest")(**kind)).id

    def activate(key_id):
        return keys.activate_web_key(model("ActivateWebKeyRequest")(id=key_id))

    def delete(key_id):
        return keys.delete_web_key(model("DeleteWebKeyRequest")(id=key_id)).deletion_date is not None

    def listed():
        return {key.id: key for key in keys.list_web_keys({}).web_keys}

    plain = create()
    rsa = listed()[plain].rsa
    print("nothing asked for:", rsa.bits.value, rsa.hasher.value)
    print(f"deleted while initial: {delete(plain)}, again: {delete(plain)}".lower())

    [old] = [key.id for key in listed().values() if key.state.value == "STATE_ACTIVE"]
    new = create(ecdsa=model("ECDSA")(curve="ECDSA_CURVE_P256"))
    key = listed()[new]
    print("created", key.state.value, key.ecdsa.curve.value)

    changed = activate(new).change_date
    keys_now = listed()
    assert keys_now[new].change_date == changed
    print("activated", keys_now[old].state.value, keys_now[new].state.value)

    print("delete the active key:", refusal_of(lambda: delete(new)))
    print("activate an unknown key:", refusal_of(lambda: activate("unknown")))
    print("activate no key:", refusal_of(lambda: activate("")))
    print("create without the permission:", refusal_of(lambda: create(others)))

    activate(old)
    print(f"rolled back and deleted: {delete(new)}".lower())


zitadel = sign_in(os.environ["ZITADEL_CLIENT_SECRET"])
viewer = Zitadel.with_access_token(URL, os.environ["ZITADEL_VIEWER_TOKEN"])

print("v2")
live(zitadel.webkeys, viewer.webkeys, "WebKeyService")
print("v2beta")
live(zitadel.beta_webkeys, viewer.beta_webkeys, "BetaWebKeyService")

try:
    sign_in("wrong").webkeys.list_web_keys({})
except ZitadelError as error:
    print("a wrong secret:", "invalid_client" if "invalid_client" in str(error) else error)
