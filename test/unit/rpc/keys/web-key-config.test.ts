import type { DescMessage, DescOneof } from '@bufbuild/protobuf'
import { describe, expect, it } from '@jest/globals'
import { WebKeyConfigSchema } from '../../../../gen/iam/webkey/v2/web_key_pb.js'
import { WebKeyConfigSchema as BetaWebKeyConfigSchema } from '../../../../gen/iam/webkey/v2beta/web_key_pb.js'
import { WebKeySchema as ZitadelWebKeySchema } from '../../../../gen/zitadel/webkey/v2/key_pb.js'
import { CreateWebKeyRequestSchema as ZitadelRequestSchema } from '../../../../gen/zitadel/webkey/v2/webkey_service_pb.js'
import { WebKeySchema as ZitadelBetaWebKeySchema } from '../../../../gen/zitadel/webkey/v2beta/key_pb.js'
import { CreateWebKeyRequestSchema as ZitadelBetaRequestSchema } from '../../../../gen/zitadel/webkey/v2beta/webkey_service_pb.js'

/** The variants of a choice, with their fields, and the numbers of the enums there. */
function variantsOf({ oneofs }: { readonly oneofs: readonly DescOneof[] }): unknown {
  return (oneofs[0]?.fields ?? []).map(({ localName, message }) => [localName, fieldsOf(message!)])
}

function fieldsOf({ fields }: DescMessage): unknown {
  return fields.map((field) => [field.localName, field.fieldKind === 'enum' && valuesOf(field.enum.values)])
}

/** Without the prefix and the digits of the curve that ZITADEL calls P512. */
function valuesOf(values: readonly { readonly name: string; readonly number: number }[]): unknown {
  return values.map(({ name, number }) => [name.replace(/_P5\d\d$/, '_P5'), number])
}

describe('the choice of a kind of key', () => {
  it.each([
    ['iam.webkey.v2beta', BetaWebKeyConfigSchema],
    ['a request of zitadel.webkey.v2', ZitadelRequestSchema],
    ['a request of zitadel.webkey.v2beta', ZitadelBetaRequestSchema],
    ['a key of zitadel.webkey.v2', ZitadelWebKeySchema],
    ['a key of zitadel.webkey.v2beta', ZitadelBetaWebKeySchema],
  ] as [string, DescMessage][])('has the fields and numbers of iam.webkey.v2 in %s', (_, schema) => {
    expect(variantsOf(schema)).toEqual(variantsOf(WebKeyConfigSchema))
    expect(variantsOf(schema)).toHaveLength(3)
  })
})
