/**
 * A plugin for buf that describes the API in OpenAPI 3.1: every service in the JSON form of the Connect protocol, and the OAuth endpoints.
 *
 * Methods that stream are left out: OpenAPI has no form for them. A rule or type that it has no form for stops it. `test/docs/openapi.test.ts` compares the result with the source. The
 * server replaces `servers`, and leaves out what is switched off (`src/oauth/documents/openapi.ts`).
 */
import type { DescFile, DescMessage } from '@bufbuild/protobuf'
import { readVersion } from '../src/config/version.ts'
import { SERVICE_AUDIENCE_SCOPE } from '../src/domain/identities/token-grant.ts'
import { runBufPlugin } from './buf-plugin.ts'
import { callRefusals, errorSchemas } from './openapi/call-refusals.ts'
import { callOf, serviceTag } from './openapi/calls.ts'
import { readComments } from './openapi/comments.ts'
import { HEADER_COMPONENTS } from './openapi/headers.ts'
import type { Json } from './openapi/json.ts'
import { MessageSchemas } from './openapi/message-schemas.ts'
import { OAUTH_SECURITY, OAUTH_TAG, oauthPaths, oauthRefusals, oauthSchemas } from './openapi/oauth-endpoints.ts'

/** The details of errors that are described. */
const DETAILS = ['google.rpc.ErrorInfo', 'google.rpc.BadRequest']

const DESCRIPTION = `The API of Keyturn in JSON, and its OAuth endpoints.

Every call of a service needs a bearer token. A request with a member that its schema does not name is refused. A response leaves out
members that are false, 0 or empty, and later versions may add members.

Each service is at the same paths in gRPC, gRPC-Web and the binary form of the Connect protocol too, which the proto files describe. Methods
without side effects can also be called by GET, as that protocol says. Not described here are the services for clients of ZITADEL, which
are off unless configured, and health and reflection of gRPC.`

runBufPlugin('protoc-gen-openapi', (files) => [
  { name: 'openapi.json', content: `${JSON.stringify(openApiOf(files), null, 2)}\n` },
])

function openApiOf(files: readonly DescFile[]): Json {
  const commentOf = readComments(files)
  const services = files.flatMap((file) => file.services)
  const methods = services.flatMap((service) => service.methods).filter(({ methodKind }) => methodKind === 'unary')
  const details = DETAILS.map((name) => messageOf(files, name))
  const schemas = new MessageSchemas(methods, details, commentOf)
  const calls = methods.map((method) => callOf(method, schemas, commentOf))
  return {
    openapi: '3.1.0',
    info: {
      title: 'Keyturn',
      version: readVersion(),
      description: DESCRIPTION,
      license: { name: 'Apache License 2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: 'http://localhost:8080' }],
    security: [{ bearer: [] }],
    tags: [...services.map((service) => serviceTag(service, commentOf)), OAUTH_TAG],
    paths: withUniqueIds({ ...Object.fromEntries(calls), ...oauthPaths() }),
    components: {
      schemas: {
        ...schemas.components(),
        ...errorSchemas(details.map((detail) => schemas.refTo(detail, 'response'))),
        ...oauthSchemas(),
      },
      responses: { ...callRefusals(), ...oauthRefusals() },
      headers: HEADER_COMPONENTS,
      securitySchemes: {
        bearer: {
          type: 'http',
          scheme: 'bearer',
          description: `An access token with the scope \`${SERVICE_AUDIENCE_SCOPE}\`, or a personal access token.`,
        },
        ...OAUTH_SECURITY,
      },
    },
  }
}

function messageOf(files: readonly DescFile[], name: string): DescMessage {
  const message = files.flatMap(({ messages }) => messages).find(({ typeName }) => typeName === name)
  if (message === undefined) throw new Error(`there is no message ${name}`)
  return message
}

/** The same paths. @throws {Error} if two operations have the same id: then a service of a new version needs another tag. */
function withUniqueIds(paths: Readonly<Record<string, Readonly<Record<string, Json>>>>): Json {
  const ids = Object.values(paths).flatMap((path) => Object.values(path).map(({ operationId }) => operationId))
  const repeated = ids.filter((id, index) => ids.indexOf(id) !== index)
  if (repeated.length > 0) throw new Error(`not unique: ${repeated.join(', ')}`)
  return paths
}
