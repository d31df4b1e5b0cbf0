/**
 * ZITADEL's client for TypeScript, as it is published, against a real server with `KEYTURN_ZITADEL_API=on`.
 */
import { cp } from 'node:fs/promises'
import { join } from 'node:path'
import { type DescFile, fromJson, isFieldSet, type JsonObject } from '@bufbuild/protobuf'
import {
  type DescriptorProto,
  type EnumDescriptorProto,
  FieldDescriptorProtoSchema,
  type FileDescriptorProto,
  FileDescriptorProtoSchema,
  timestampFromDate,
} from '@bufbuild/protobuf/wkt'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { InstanceRole } from '../../gen/iam/user/v2/service_user_pb.js'
import { file_zitadel_webkey_v2_key } from '../../gen/zitadel/webkey/v2/key_pb.js'
import { file_zitadel_webkey_v2_webkey_service } from '../../gen/zitadel/webkey/v2/webkey_service_pb.js'
import { file_zitadel_webkey_v2beta_key } from '../../gen/zitadel/webkey/v2beta/key_pb.js'
import { file_zitadel_webkey_v2beta_webkey_service } from '../../gen/zitadel/webkey/v2beta/webkey_service_pb.js'
import { type Administration, administrationOf } from '../support/administration.ts'
import { cannotInstall, missing, shellIn } from '../support/foreign-tools.ts'
import { type Keyturn, removeFolder, startKeyturnInProcess, temporaryFolder } from '../support/keyturn.ts'
import { describeUnless } from '../support/unless.ts'

const TOOLS = {
  needs: { npm: 'npm --version' },
  install:
    'npm install --silent --prefix "$CACHE" @zitadel/client@1.3.1 @zitadel/proto@1.3.1 && ln -s "$CACHE/node_modules" node_modules',
}

/** What the program prints about one of the two services: what it did, and how calls that fail were reported. */
const lifeOfKeys = (service: string) => `${service}
nothing asked for: RSA_BITS_2048 RSA_HASHER_SHA256
deleted while initial: true, again: false
created STATE_INITIAL ECDSA_CURVE_P256
activated STATE_INACTIVE STATE_ACTIVE
delete the active key: failed_precondition WEB_KEY_ACTIVE
activate an unknown key: not_found WEB_KEY_NOT_FOUND
activate no key: invalid_argument INVALID_ARGUMENT
create without the permission: permission_denied PERMISSION_MISSING
rolled back and deleted: true
`

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

const folder = await temporaryFolder()
await cp(join(import.meta.dirname, 'zitadel-npm'), folder, { recursive: true })
const shell = shellIn(folder, 'zitadel-npm')
const obstacle = missing(TOOLS) ?? (await cannotInstall(TOOLS, shell))
if (obstacle !== undefined) process.stderr.write(`Skipped the client of ZITADEL: ${obstacle}\n`)
afterAll(() => removeFolder(folder))

describeUnless(obstacle)('@zitadel/client with @zitadel/proto, as they are published,', () => {
  let server: Keyturn
  let env: Record<string, string>
  beforeAll(async () => {
    server = await startKeyturnInProcess({ env: { KEYTURN_ZITADEL_API: 'on' } })
    env = await credentialsOf(server)
  })
  afterAll(async () => {
    await server?.stop()
    if (server !== undefined) await removeFolder(server.dataDir)
  })

  it('signs in, creates, activates, lists and deletes keys, and reads errors', async () => {
    const printed = await shell('node client.mjs', env)
    const wrongToken = 'a wrong token: unauthenticated TOKEN_INVALID'
    expect(printed).toBe(`${lifeOfKeys('v2')}${lifeOfKeys('v2beta')}${wrongToken}\n`)
  })

  it('has the messages, numbers and methods of proto/zitadel', async () => {
    const published = (JSON.parse(await shell('node descriptors.mjs')) as JsonObject[]).map((file) =>
      fromJson(FileDescriptorProtoSchema, file, { ignoreUnknownFields: true }),
    )
    expect(published.map(wireOf)).toEqual(OURS.map(({ proto }) => wireOf(proto)))
  })
})

/** The credentials of the administrator, and a token of a user who may only read. */
async function credentialsOf(server: Keyturn): Promise<Record<string, string>> {
  const { base_url, client_id, client_secret } = await server.admin()
  const admin = await administrationOf(server)
  const { projects } = await admin.projects.listProjects({})
  const { serviceUser } = await admin.users.createServiceUser({ projectId: projects[0]!.projectId, name: 'viewer' })
  const { userId } = serviceUser!
  await admin.users.setInstanceRoles({ userId, instanceRoles: [InstanceRole.IAM_OWNER_VIEWER] })
  return {
    ZITADEL_URL: base_url,
    ZITADEL_CLIENT_ID: client_id,
    ZITADEL_CLIENT_SECRET: client_secret,
    ZITADEL_TOKEN: await personalAccessToken(admin, client_id.split('@')[0]!),
    ZITADEL_VIEWER_TOKEN: await personalAccessToken(admin, userId),
  }
}

async function personalAccessToken({ users }: Administration, userId: string): Promise<string> {
  const expirationDate = timestampFromDate(new Date(Date.now() + 3_600_000))
  return (await users.createPersonalAccessToken({ userId, expirationDate })).token
}
