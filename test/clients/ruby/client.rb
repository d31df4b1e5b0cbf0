# Rotates a web key with the generated client, and reads what errors say. The test knows what it prints.

require 'google/protobuf/well_known_types'
require 'google/rpc/error_details_pb'
require 'grpc'
require 'grpc/google_rpc_status_utils'
require 'iam/webkey/v2beta/web_key_service_services_pb'

include Keyturn::Iam::Webkey::V2beta

KEYS = WebKeyService::Stub.new(ENV.fetch('KEYTURN_TARGET'), :this_channel_is_insecure)
TOKEN = { 'authorization' => "Bearer #{ENV.fetch('KEYTURN_TOKEN')}" }.freeze

def states
  KEYS.list_web_keys(ListWebKeysRequest.new, metadata: TOKEN).web_keys.to_h { |key| [key.key_id, key.state] }
end

def delete(key_id)
  KEYS.delete_web_key(DeleteWebKeyRequest.new(key_id: key_id), metadata: TOKEN)
end

# The detail of this kind of the error that a deletion ends with.
def detail_of_deleting(key_id, kind)
  delete(key_id)
  raise 'the call was not refused'
rescue GRPC::BadStatus => error
  error.to_rpc_status.details.find { |detail| detail.is(kind) }.unpack(kind)
end

old = states.key(:STATE_ACTIVE)

config = WebKeyConfig.new(ecdsa: ECDSA.new(curve: :ECDSA_CURVE_P256))
created = KEYS.create_web_key(CreateWebKeyRequest.new(config: config), metadata: TOKEN).details
puts "created #{created.state} #{created.algorithm}"

activation = ActivateWebKeyRequest.new(key_id: created.key_id)
puts "activated #{KEYS.activate_web_key(activation, metadata: TOKEN).details.state}"

listed = states
puts "listed #{listed[old]} #{listed[created.key_id]}"

info = detail_of_deleting(created.key_id, Google::Rpc::ErrorInfo)
puts "refused #{info.reason} #{info.domain}"

puts "invalid #{detail_of_deleting('', Google::Rpc::BadRequest).field_violations[0].field}"

# The last call: the token was signed by the key that is deleted.
puts 'deleted' if delete(old).details.change_date
