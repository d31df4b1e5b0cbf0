"""Rotates a web key with the generated client, and reads what errors say. The test knows what it prints."""

import os

import grpc
from google.rpc import error_details_pb2
from grpc_status import rpc_status
from protovalidate import ViolationsPb

from iam.webkey.v2beta import web_key_pb2, web_key_service_pb2, web_key_service_pb2_grpc

TOKEN = (("authorization", f"Bearer {os.environ['KEYTURN_TOKEN']}"),)


def details_of(call):
    """The details of the error that a call ends with, by type."""
    try:
        call()
    except grpc.RpcError as error:
        return {detail.TypeName(): detail.value for detail in rpc_status.from_call(error).details}
    raise SystemExit("the call was not refused")


def name_of(state):
    return web_key_pb2.State.Name(state)


with grpc.insecure_channel(os.environ["KEYTURN_TARGET"]) as channel:
    keys = web_key_service_pb2_grpc.WebKeyServiceStub(channel)

    def list_states():
        listed = keys.ListWebKeys(web_key_service_pb2.ListWebKeysRequest(), metadata=TOKEN)
        return {key.key_id: name_of(key.state) for key in listed.web_keys}

    def delete(key_id):
        return keys.DeleteWebKey(web_key_service_pb2.DeleteWebKeyRequest(key_id=key_id), metadata=TOKEN)

    [old] = [key_id for key_id, state in list_states().items() if state == "STATE_ACTIVE"]

    config = web_key_pb2.WebKeyConfig(ecdsa=web_key_pb2.ECDSA(curve=web_key_pb2.ECDSA_CURVE_P256))
    created = keys.CreateWebKey(web_key_service_pb2.CreateWebKeyRequest(config=config), metadata=TOKEN).details
    print("created", name_of(created.state), created.algorithm)

    new = created.key_id
    activated = keys.ActivateWebKey(web_key_service_pb2.ActivateWebKeyRequest(key_id=new), metadata=TOKEN).details
    print("activated", name_of(activated.state))

    states = list_states()
    print("listed", states[old], states[new])

    info = error_details_pb2.ErrorInfo.FromString(details_of(lambda: delete(new))["google.rpc.ErrorInfo"])
    print("refused", info.reason, info.domain)

    details = details_of(lambda: delete(""))
    bad_request = error_details_pb2.BadRequest.FromString(details["google.rpc.BadRequest"])
    print("invalid", bad_request.field_violations[0].field)
    # The same for those who use protovalidate.
    violations = ViolationsPb.from_binary(details["buf.validate.Violations"])
    assert violations.violations[0].rule_id == "string.min_len"

    # The last call: the token was signed by the key that is deleted.
    if delete(old).details.change_date.seconds > 0:
        print("deleted")
