/**
 * The schema of files against the messages of the API, and the JSON schema against the schema that files are checked with.
 */
import { type DescField, type DescMessage, getOption } from '@bufbuild/protobuf'
import { field as rulesOf } from '@bufbuild/protovalidate/gen/buf/validate/validate_pb.js'
import { describe, expect, it } from '@jest/globals'
import { parseAllDocuments } from 'yaml'
import { z } from 'zod'
import { ConfigurationSchema } from '../../../gen/iam/config/v2/configuration_pb.js'
import { configurationJsonSchema } from '../../../src/configuration-files/json-schema.ts'
import { configurationDocument } from '../../../src/configuration-files/schema.ts'
import { LISTS } from '../../../src/configuration-files/to-message.ts'
import { EVERYTHING } from './everything.ts'

interface JsonSchema {
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly items?: JsonSchema
  readonly propertyNames?: JsonSchema
  readonly additionalProperties?: JsonSchema
  readonly oneOf?: readonly JsonSchema[]
  readonly allOf?: readonly { readonly if: JsonSchema; readonly then: JsonSchema }[]
  readonly required?: readonly string[]
  readonly definitions?: Readonly<Record<string, JsonSchema>>
  readonly const?: string
  readonly enum?: readonly string[]
  readonly pattern?: string
  readonly minLength?: number
  readonly maxLength?: number
  readonly minimum?: number
  readonly maximum?: number
  readonly maxItems?: number
  readonly uniqueItems?: boolean
}

const schema = configurationJsonSchema('1.2.3') as JsonSchema & { readonly $id: string }

/** The schemas of the kinds. */
const ofKinds = (schema.allOf ?? []).map((branch) => branch.then)

/** The schema of a kind and the message that it becomes. */
const KINDS = Object.entries(LISTS).map(([kind, list]) => ({
  kind,
  ofFile: ofKinds.find(({ properties }) => properties?.kind?.const === kind) ?? {},
  message: messageOf(ConfigurationSchema.fields.find(({ jsonName }) => jsonName === list) as DescField),
}))

function messageOf(field: DescField): DescMessage {
  if (field.message === undefined) throw new Error(`${field.name} is no message`)
  return field.message
}

const OWN_FIELDS = ['kind', 'generateSecret']
const rest = (kind: string) => KINDS.find((each) => each.kind === kind) as (typeof KINDS)[number]

/** A pattern without escapes that it does not need. */
function plainPattern(pattern: string | undefined): string | undefined {
  return pattern?.replaceAll('\\/', '/').replace(/(?<=\[[^\]]*)\\\[/g, '[')
}

/** What the rules of a field say about its value or its items, as a JSON schema does. */
function limitsOf(field: DescField) {
  const rules = getOption(field, rulesOf)
  const item = rules.type.case === 'repeated' ? rules.type.value.items?.type : rules.type
  const limits: Record<string, unknown> = {}
  if (item?.case === 'string') {
    const { pattern, minLen, maxLen } = item.value
    if (pattern !== '') limits.pattern = plainPattern(pattern)
    if (minLen !== 0n) limits.minLength = Number(minLen)
    if (maxLen !== 0n) limits.maxLength = Number(maxLen)
  }
  if (item?.case === 'int32') {
    limits.minimum = item.value.greaterThan.value
    limits.maximum = item.value.lessThan.value
  }
  return limits
}

/** The same of a schema. Dates and lengths of time are the business of the files alone. */
function limitsIn({ pattern, minLength, maxLength, minimum, maximum }: JsonSchema) {
  const limits = {
    pattern: pattern?.replaceAll('\\/', '/'),
    minLength: minLength || undefined,
    maxLength,
    minimum,
    maximum,
  }
  return Object.fromEntries(Object.entries(limits).filter(([, value]) => value !== undefined))
}

describe('the fields of files', () => {
  it.each(KINDS)('of the kind $kind are those of the API', ({ ofFile, message }) => {
    const names = Object.keys(ofFile.properties ?? {}).filter((name) => !OWN_FIELDS.includes(name))
    expect(names.sort()).toEqual(message.fields.map(({ jsonName }) => jsonName).sort())
  })

  it.each(KINDS)('of the kind $kind have the limits of the API', ({ ofFile, message }) => {
    const plain = message.fields.filter(
      ({ fieldKind, jsonName, message: type }) =>
        type === undefined && fieldKind !== 'map' && !['tokenClaims', 'instanceRoles'].includes(jsonName),
    )
    const limits = (of: (field: DescField) => object) =>
      Object.fromEntries(plain.map((field) => [field.jsonName, of(field)]))
    const inFile = ({ jsonName }: DescField) => {
      const property = ofFile.properties?.[jsonName] ?? {}
      return limitsIn(property.items ?? property)
    }
    expect(limits(inFile)).toEqual(limits(limitsOf))
    expect(Object.keys(plain).length).toBeGreaterThan(0)
  })

  it('of what a user has are those of the API too', () => {
    const { ofFile, message } = rest('ServiceUser')
    const itemOf = (list: string) => Object.keys(ofFile.properties?.[list]?.items?.properties ?? {}).sort()
    const fieldsOf = (list: string) =>
      messageOf(message.field[list] as DescField).fields.map(({ jsonName }) => jsonName)
    expect(itemOf('federatedIdentities')).toEqual(fieldsOf('federatedIdentities').sort())
    const match = messageOf(messageOf(message.field.clientCertificates as DescField).field.match as DescField)
    expect(itemOf('clientCertificates')).toEqual(
      [...match.fields.map(({ jsonName }) => jsonName), 'expirationDate'].sort(),
    )
    expect(itemOf('publicKeys')).toEqual(['d', 'expirationDate', 'kty'])
  })

  it('of keys and instance roles offer what the API offers', () => {
    const { ofFile, message } = rest('TrustedIssuer')
    const keys = messageOf(message.field.keys as DescField)
    expect(Object.keys(ofFile.properties?.keys?.properties ?? {}).sort()).toEqual(
      keys.fields.map(({ jsonName }) => jsonName).sort(),
    )
    const roles = rest('ServiceUser').message.field.instanceRoles?.enum?.values ?? []
    expect(rest('ServiceUser').ofFile.properties?.instanceRoles?.items?.enum).toEqual(
      roles.filter(({ number }) => number !== 0).map(({ localName }) => localName),
    )
    const members =
      messageOf(rest('ServiceUser').message.field.managedProjects as DescField).field.role?.enum?.values ?? []
    expect(rest('ServiceUser').ofFile.properties?.managedProjects?.additionalProperties?.enum).toEqual(
      members.filter(({ number }) => number !== 0).map(({ localName }) => localName),
    )
    const kinds = messageOf(rest('RotationPolicy').message.field.config as DescField)
    const config = rest('RotationPolicy').ofFile.properties?.config?.properties ?? {}
    expect(Object.keys(config)).toEqual(kinds.fields.map(({ jsonName }) => jsonName))
    for (const [kind, field] of [
      ['rsa', 'bits'],
      ['rsa', 'hasher'],
      ['ecdsa', 'curve'],
    ] as const) {
      const values = messageOf(kinds.field[kind] as DescField).field[field]?.enum?.values ?? []
      expect(config[kind]?.properties?.[field]?.enum).toEqual(
        values.filter(({ number }) => number !== 0).map(({ name }) => name),
      )
    }
  })

  it('all stand in the example that the tests of files read', () => {
    const documents = parseAllDocuments(EVERYTHING).map((document) => document.toJS() as { kind: string })
    for (const { kind, ofFile } of KINDS) {
      const names = documents.filter((document) => document.kind === kind).flatMap((document) => Object.keys(document))
      expect([kind, ...new Set(names)].sort()).toEqual([kind, ...Object.keys(ofFile.properties ?? {})].sort())
    }
  })
})

/** Zod reads no choice of what is required, and no `if`: it writes the schema, and is not made to read others'. */
function withoutChoices(key: string, value: unknown): unknown {
  return key === 'oneOf' && JSON.stringify(value).startsWith('[{"properties"') ? undefined : value
}

/** Each schema in one. */
function schemasIn(value: unknown): JsonSchema[] {
  if (typeof value !== 'object' || value === null) return []
  return [value, ...Object.values(value).flatMap(schemasIn)]
}

describe('the JSON schema', () => {
  it('has an id with the version of the package', () => {
    expect(schema.$id).toBe('https://raw.githubusercontent.com/keyturn/keyturn/v1.2.3/gen/configuration.schema.json')
  })

  it('checks a document by its kind alone, so that no mistake is one of all kinds', () => {
    const kinds = Object.keys(LISTS)
    expect(schema).toMatchObject({ type: 'object', properties: { kind: { enum: kinds } }, required: ['kind'] })
    expect(schema.allOf?.map((branch) => branch.if)).toEqual(
      kinds.map((kind) => ({ properties: { kind: { const: kind } }, required: ['kind'] })),
    )
    expect(ofKinds.map(({ properties }) => properties?.kind?.const)).toEqual(kinds)
    expect(schema.oneOf).toBeUndefined()
  })

  it('has each required property beside it, as the strict mode of Ajv wants', () => {
    const requiring = schemasIn(schema).filter(({ required }) => required !== undefined)
    expect(requiring.length).toBeGreaterThan(10)
    for (const each of requiring)
      expect(Object.keys(each.properties ?? {})).toEqual(expect.arrayContaining([...(each.required ?? [])]))
  })

  it('takes and refuses what the check of files takes and refuses', () => {
    const readable = {
      $schema: 'http://json-schema.org/draft-07/schema#',
      oneOf: ofKinds,
      definitions: schema.definitions,
    }
    const fromSchema = z.fromJSONSchema(JSON.parse(JSON.stringify(readable, withoutChoices)))
    const user = { kind: 'ServiceUser', project: 'shop', name: 'a' }
    const issuer = { kind: 'TrustedIssuer', issuer: 'https://a.example' }
    const documents: [unknown, boolean][] = [
      ...parseAllDocuments(EVERYTHING).map((document): [unknown, boolean] => [document.toJS(), true]),
      [user, true],
      [{ ...user, name: '' }, false],
      [{ ...user, name: 'x'.repeat(201) }, false],
      [{ ...user, nam: 'x' }, false],
      [{ ...user, tokenLifetime: '5 minutes' }, false],
      [{ ...user, generateSecret: { into: 'http://elsewhere' } }, false],
      [{ ...user, instanceRoles: ['OWNER'] }, false],
      [{ ...user, publicKeys: [{ kty: 'EC', x: 'a', y: 'b' }] }, true],
      [{ ...user, publicKeys: [{ kty: 'EC', x: 'a', y: 'b', d: 'c' }] }, false],
      [{ ...issuer, keys: { jwksUrl: 'http://a.example' } }, false],
      [{ kind: 'Project', name: 'A' }, false],
      [{ kind: 'Other' }, false],
      [[], false],
    ]
    for (const [document, isValid] of documents) {
      expect([document, configurationDocument.safeParse(document).success]).toEqual([document, isValid])
      expect([document, fromSchema.safeParse(document).success]).toEqual([document, isValid])
    }
  })
})
