/**
 * The description of the API in `gen/openapi.json`: that it says what the proto files and the OAuth endpoints do.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  create,
  type DescField,
  type DescMessage,
  getOption,
  hasOption,
  type MessageInitShape,
} from '@bufbuild/protobuf'
import { FieldRulesSchema, field as fieldRules, Ignore } from '@bufbuild/protovalidate/gen/buf/validate/validate_pb.js'
import { describe, expect, it } from '@jest/globals'
import type { InstanceRoleSchema } from '../../gen/iam/user/v2/service_user_pb.js'
import { keywordsOf } from '../../scripts/openapi/rule-keywords.ts'
import { DOCUMENT_PATHS, OAUTH_PATHS } from '../../src/oauth/requests/endpoints.ts'
import { SERVICES } from '../../src/rpc/routes.ts'
import { METHODS } from '../support/administration.ts'

interface Operation {
  readonly operationId: string
  readonly tags: readonly string[]
  readonly description: string
  readonly deprecated?: boolean
  readonly responses: Readonly<Record<string, unknown>>
}

interface Schema {
  readonly properties?: Readonly<Record<string, object>>
  readonly required?: readonly string[]
  readonly oneOf?: readonly Schema[]
  readonly title?: string
  readonly additionalProperties?: unknown
}

const text = readFileSync(join(import.meta.dirname, '../../gen/openapi.json'), 'utf8')
const document = JSON.parse(text) as {
  readonly tags: readonly { readonly name: string }[]
  readonly paths: Readonly<Record<string, { readonly post?: Operation; readonly get?: Operation }>>
  readonly components: Readonly<Record<string, Readonly<Record<string, unknown>>>> & {
    readonly schemas: Readonly<Record<string, Schema>>
  }
}
const referenced = new Set([...text.matchAll(/"\$ref": "#\/components\/([^"]+)"/g)].map(([, name]) => name))
const components = Object.entries(document.components).flatMap(([kind, named]) =>
  Object.keys(named).map((name) => `${kind}/${name}`),
)

/** The messages of all requests, with those in them. */
const requestMessages = [...new Set(METHODS.flatMap(({ method }) => withInner(method.input)))]

function withInner(message: DescMessage): DescMessage[] {
  const inner = message.fields.flatMap(({ message: type }) => type ?? [])
  return [message, ...inner.filter(({ typeName }) => typeName.startsWith('iam.')).flatMap(withInner)]
}

/** The schema of a message in requests. */
function schemaOf({ typeName }: DescMessage): Schema {
  const { schemas } = document.components
  return schemas[`${typeName}Input`] ?? schemas[typeName] ?? {}
}

/** What the schema of a message says about a field. */
function keywordsAt({ parent, jsonName }: DescField): { isRequired: boolean; keywords: string[] } {
  const schema = schemaOf(parent)
  const { properties, required } =
    [schema, ...(schema.oneOf ?? [])].find((part) => part.properties?.[jsonName] !== undefined) ?? schema
  return {
    isRequired: required?.includes(jsonName) === true,
    keywords: Object.keys(properties?.[jsonName] ?? {}).filter(
      (name) => !['type', 'description', '$ref', 'format'].includes(name),
    ),
  }
}

describe('the description of the API', () => {
  it('has one operation for each method that does not stream, at its path, and all OAuth endpoints', () => {
    expect(METHODS.map(({ method }) => method.parent)).toEqual(
      SERVICES.flatMap(({ methods }) =>
        methods.filter(({ methodKind }) => methodKind === 'unary').map(({ parent }) => parent),
      ),
    )
    const documents = Object.entries(DOCUMENT_PATHS).filter(([, name]) => name !== 'openApi')
    expect(
      Object.entries(document.paths)
        .map(([path, item]) => `${Object.keys(item)} ${path}`)
        .sort(),
    ).toEqual(
      [
        ...METHODS.map(({ path }) => `post /${path}`),
        `post ${OAUTH_PATHS.token}`,
        `post ${OAUTH_PATHS.introspection}`,
        `post ${OAUTH_PATHS.revocation}`,
        ...documents.map(([path]) => `get ${path}`),
      ].sort(),
    )
  })

  it('refers only to components that it has, and has none that nothing refers to', () => {
    const schemes = components.filter((name) => name.startsWith('securitySchemes/'))
    expect([...referenced, ...schemes].sort()).toEqual(components.sort())
  })

  it.each(METHODS)('says which permission $path needs', ({ path, permission }) => {
    expect(document.paths[`/${path}`]?.post?.description).toContain(`Needs the permission \`${permission}\`.`)
  })

  it('closes what clients send, and leaves open what they receive', () => {
    const closed = Object.entries(document.components.schemas).flatMap(([name, schema]) =>
      [schema, ...(schema.oneOf ?? [])].some((part) => part.additionalProperties === false) ? [name] : [],
    )
    const names = requestMessages.map(({ typeName }) => typeName)
    expect(closed.map((name) => name.replace(/Input$/, '')).sort()).toEqual(names.sort())
    expect(closed).toContain('iam.webkey.v2.RotationPolicyInput')
    expect(document.components.schemas).toHaveProperty(['iam.webkey.v2.RotationPolicy'])
  })
})

describe('the rules of the proto files', () => {
  const withRules = requestMessages.flatMap(({ fields }) => fields).filter((field) => hasOption(field, fieldRules))

  it('each are in the schema of their field', () => {
    expect(withRules.length).toBeGreaterThan(50)
    const isSaid = (field: DescField) => {
      const rules = getOption(field, fieldRules)
      // Its mistakes are an answer, and no refusal.
      if (rules.ignore === Ignore.ALWAYS) return true
      const { isRequired, keywords } = keywordsAt(field)
      // Its schema names all values that the enum has.
      const isOfDefinedValues = rules.type.case === 'enum' && rules.type.value.definedOnly
      return isRequired || keywords.length > 0 || isOfDefinedValues
    }
    expect(withRules.filter((field) => !isSaid(field)).map(({ parent, name }) => `${parent.typeName}.${name}`)).toEqual(
      [],
    )
  })

  it('make one variant of a choice required', () => {
    const { oneOf } = document.components.schemas['iam.webkey.v2beta.WebKeyConfig']!
    expect(oneOf?.map(({ required }) => required)).toEqual([['rsa'], ['ecdsa'], ['ed25519']])
    const keys = document.components.schemas['iam.federation.v2.IssuerKeysInput']!
    expect(keys.oneOf?.map(({ required }) => required)).toEqual([
      ['jwks'],
      ['discovery'],
      ['jwksUrl'],
      ['spiffeBundleUrl'],
    ])
    // Generators name classes by them.
    const titles = Object.values(document.components.schemas).flatMap(({ oneOf = [] }) =>
      oneOf.map(({ title }) => title),
    )
    expect(titles).toHaveLength(25)
    expect(new Set(titles).size).toBe(titles.length)
  })

  type Type = MessageInitShape<typeof FieldRulesSchema>['type']
  const keywords = (type: Type, named?: typeof InstanceRoleSchema, ignore = Ignore.UNSPECIFIED) =>
    keywordsOf(create(FieldRulesSchema, { type: type!, ignore }), named)

  it('are never left out: a rule without a keyword fails', () => {
    expect(() => keywords({ case: 'string', value: { prefix: 'urn:' } })).toThrow('no keyword for prefix')
    expect(() => keywords({ case: 'double', value: {} })).toThrow('no keyword for double')
    expect(() => keywords({ case: 'int32', value: {} }, undefined, Ignore.IF_ZERO_VALUE)).toThrow('no keyword')
  })
})
