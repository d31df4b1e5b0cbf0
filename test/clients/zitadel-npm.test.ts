import { type DescFile, fromJson, isFieldSet, type JsonObject } from '@bufbuild/protobuf'
import {
  type DescriptorProto,
  type EnumDescriptorProto,
  FieldDescriptorProtoSchema,
  type FileDescriptorProto,
  FileDescriptorProtoSchema,
} from '@bufbuild/protobuf/wkt'
import { expect, it } from '@jest/globals'
import { file_zitadel_webkey_v2_key } from '../../gen/zitadel/webkey/v2/key_pb.js'
import { file_zitadel_webkey_v2_webkey_service } from '../../gen/zitadel/webkey/v2/webkey_service_pb.js'
import { file_zitadel_webkey_v2beta_key } from '../../gen/zitadel/webkey/v2beta/key_pb.js'
import { file_zitadel_webkey_v2beta_webkey_service } from '../../gen/zitadel/webkey/v2beta/webkey_service_pb.js'
import { testZitadelSdk } from './zitadel-sdk.ts'

const OURS: readonly DescFile[] = [
  file_zitadel_webkey_v2_key,
  file_zitadel_webkey_v2_webkey_service,
  file_zitadel_webkey_v2beta_key,
  file_zitadel_webkey_v2beta_webkey_service,
]

/** What decides about the wire, by name: the order of declarations and options do not. */
function wireOf({ name, package: packageName, messageType, enumType, service }: FileDescriptorProto): unknown {
  return {
    name,
    packageName,
    messages: Object.fromEntries(messageType.map((message) => [message.name, fieldsOf(message)])),
    enums: Object.fromEntries(enumType.map((type) => [type.name, valuesOf(type)])),
    services: service.map((each) => [
      each.name,
      Object.fromEntries(each.method.map(({ name, inputType, outputType }) => [name, [inputType, outputType]])),
    ]),
  }
}

function fieldsOf({ field, oneofDecl }: DescriptorProto): unknown {
  return Object.fromEntries(
    field.map((each) => {
      const { name, number, type, label, typeName, oneofIndex } = each
      const isInOneof = isFieldSet(each, FieldDescriptorProtoSchema.field.oneofIndex)
      return [name, { number, type, label, typeName, oneof: isInOneof ? oneofDecl[oneofIndex]?.name : undefined }]
    }),
  )
}

function valuesOf({ value }: EnumDescriptorProto): unknown {
  return Object.fromEntries(value.map(({ name, number }) => [name, number]))
}

await testZitadelSdk(
  {
    name: '@zitadel/client with @zitadel/proto of npm',
    folder: 'zitadel-npm',
    needs: { npm: 'npm --version' },
    install:
      'npm install --silent --prefix "$CACHE" @zitadel/client@1.3.1 @zitadel/proto@1.3.1 && ln -s "$CACHE/node_modules" node_modules',
    run: 'node client.mjs',
    signIn: 'a wrong token: unauthenticated TOKEN_INVALID',
  },
  (shell) => {
    it('has the messages, numbers and methods of proto/zitadel', async () => {
      const published = (JSON.parse(await shell('node descriptors.mjs')) as JsonObject[]).map((file) =>
        fromJson(FileDescriptorProtoSchema, file, { ignoreUnknownFields: true }),
      )
      expect(published.map(wireOf)).toEqual(OURS.map(({ proto }) => wireOf(proto)))
    })
  },
)
