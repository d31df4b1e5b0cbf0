/** Prints the descriptors of the web key services as they are published, in JSON. */
import { toJson } from '@bufbuild/protobuf'
import { FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt'
import { file_zitadel_webkey_v2_key } from '@zitadel/proto/zitadel/webkey/v2/key_pb.js'
import { file_zitadel_webkey_v2_webkey_service } from '@zitadel/proto/zitadel/webkey/v2/webkey_service_pb.js'
import { file_zitadel_webkey_v2beta_key } from '@zitadel/proto/zitadel/webkey/v2beta/key_pb.js'
import { file_zitadel_webkey_v2beta_webkey_service } from '@zitadel/proto/zitadel/webkey/v2beta/webkey_service_pb.js'

const files = [
  file_zitadel_webkey_v2_key,
  file_zitadel_webkey_v2_webkey_service,
  file_zitadel_webkey_v2beta_key,
  file_zitadel_webkey_v2beta_webkey_service,
]
process.stdout.write(JSON.stringify(files.map(({ proto }) => toJson(FileDescriptorProtoSchema, proto))))
