// Rotates a web key with the generated client, and reads what errors say. The test knows what it prints.

#include <cstdlib>
#include <iostream>
#include <map>
#include <string>

#include <grpcpp/grpcpp.h>

#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "iam/webkey/v2beta/web_key_service.grpc.pb.h"

using namespace iam::webkey::v2beta;

namespace {

std::string setting(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// One call with the token. `Method` is a member function of the stub.
template <typename Method, typename Request, typename Response>
grpc::Status call(WebKeyService::Stub& keys, Method method, const Request& request, Response* response) {
  grpc::ClientContext context;
  context.AddMetadata("authorization", "Bearer " + setting("KEYTURN_TOKEN"));
  return (keys.*method)(&context, request, response);
}

void check(const grpc::Status& status) {
  if (status.ok()) return;
  std::cerr << status.error_message() << std::endl;
  std::exit(1);
}

std::map<std::string, State> states(WebKeyService::Stub& keys) {
  ListWebKeysResponse listed;
  check(call(keys, &WebKeyService::Stub::ListWebKeys, ListWebKeysRequest(), &listed));
  std::map<std::string, State> states;
  for (const WebKey& key : listed.web_keys()) states[key.key_id()] = key.state();
  return states;
}

grpc::Status remove(WebKeyService::Stub& keys, const std::string& key_id, DeleteWebKeyResponse* response) {
  DeleteWebKeyRequest request;
  request.set_key_id(key_id);
  return call(keys, &WebKeyService::Stub::DeleteWebKey, request, response);
}

// The detail of this kind of the error that a deletion ends with.
template <typename Detail>
Detail detail_of_deleting(WebKeyService::Stub& keys, const std::string& key_id) {
  DeleteWebKeyResponse response;
  google::rpc::Status status;
  status.ParseFromString(remove(keys, key_id, &response).error_details());
  Detail found;
  for (const google::protobuf::Any& detail : status.details()) {
    if (detail.UnpackTo(&found)) return found;
  }
  std::cerr << "there is no such detail" << std::endl;
  std::exit(1);
}

}  // namespace

int main() {
  WebKeyService::Stub keys(grpc::CreateChannel(setting("KEYTURN_TARGET"), grpc::InsecureChannelCredentials()));

  std::string old;
  for (const auto& [key_id, state] : states(keys)) {
    if (state == STATE_ACTIVE) old = key_id;
  }

  CreateWebKeyRequest creation;
  creation.mutable_config()->mutable_ecdsa()->set_curve(ECDSA_CURVE_P256);
  CreateWebKeyResponse created;
  check(call(keys, &WebKeyService::Stub::CreateWebKey, creation, &created));
  const CreateWebKeyDetails& key = created.details();
  std::cout << "created " << State_Name(key.state()) << " " << key.algorithm() << std::endl;

  ActivateWebKeyRequest activation;
  activation.set_key_id(key.key_id());
  ActivateWebKeyResponse activated;
  check(call(keys, &WebKeyService::Stub::ActivateWebKey, activation, &activated));
  std::cout << "activated " << State_Name(activated.details().state()) << std::endl;

  auto listed = states(keys);
  std::cout << "listed " << State_Name(listed[old]) << " " << State_Name(listed[key.key_id()]) << std::endl;

  auto info = detail_of_deleting<google::rpc::ErrorInfo>(keys, key.key_id());
  std::cout << "refused " << info.reason() << " " << info.domain() << std::endl;

  auto bad_request = detail_of_deleting<google::rpc::BadRequest>(keys, "");
  std::cout << "invalid " << bad_request.field_violations(0).field() << std::endl;

  // The last call: the token was signed by the key that is deleted.
  DeleteWebKeyResponse deleted;
  check(remove(keys, old, &deleted));
  if (deleted.details().has_change_date()) std::cout << "deleted" << std::endl;
}
