import { toJson } from '@bufbuild/protobuf'
import { describe, expect, it } from '@jest/globals'
import { ConfigurationSchema } from '../../../gen/iam/config/v2/configuration_pb.js'
import { parseConfiguration } from '../../../src/configuration-files/configuration.ts'
import { formatDocuments } from '../../../src/configuration-files/format.ts'
import { ConfigurationMistakes } from '../../../src/configuration-files/mistakes.ts'
import { documentsFrom } from '../../../src/configuration-files/to-documents.ts'
import { EVERYTHING } from './everything.ts'

const parse = (text: string, name = 'shop.yaml') => parseConfiguration([{ name, text }])

/** The lines of the mistakes in a file. */
function mistakesIn(text: string, name?: string): string[] {
  try {
    parse(text, name)
  } catch (error) {
    if (error instanceof ConfigurationMistakes) return error.message.split('\n').slice(1)
    throw error
  }
  return []
}

describe('a configuration in YAML', () => {
  it('is the message of the API, with its shorter forms written out', () => {
    const json = toJson(ConfigurationSchema, parse(EVERYTHING).configuration)
    expect(json).toMatchObject({
      projects: [{ name: 'shop', roles: ['admin', 'reader'], audiences: ['https://api.shop.example'] }],
      serviceUsers: [
        {
          project: 'shop',
          name: 'checkout',
          projectRoles: [
            { project: 'shop', roles: ['admin'] },
            { project: 'stock', roles: ['reader', 'writer'] },
          ],
          instanceRoles: ['INSTANCE_ROLE_IAM_OWNER'],
          managedProjects: [
            { project: 'shop', role: 'PROJECT_MEMBER_ROLE_PROJECT_OWNER' },
            { project: 'stock', role: 'PROJECT_MEMBER_ROLE_PROJECT_OWNER_VIEWER' },
          ],
          publicKeys: [{ expirationDate: '2031-01-31T00:00:00Z' }],
          federatedIdentities: [{ claims: [{ pointer: '/repository', value: 'shop/checkout' }] }],
          clientCertificates: [{ match: { sanUri: 'spiffe://shop.example/checkout' } }],
          tokenLifetime: '300s',
          tokenClaims: '{"tenant":"a","level":3}',
        },
      ],
      trustedIssuers: [{ keys: { discovery: {}, maxStalenessSeconds: 3600 } }, { keys: { jwks: expect.any(String) } }],
      rotationPolicy: { rotationInterval: '2592000s', publishAhead: '43200s' },
    })
  })

  it('can be written and read again without a difference, as YAML and as JSON', () => {
    const { configuration } = parse(EVERYTHING)
    for (const format of ['yaml', 'json'] as const) {
      const text = formatDocuments(documentsFrom(configuration), format)
      expect(toJson(ConfigurationSchema, parse(text, `copy.${format}`).configuration)).toEqual(
        toJson(ConfigurationSchema, configuration),
      )
    }
  })

  it('says which secrets shall be handed over, and keeps that from the server', () => {
    const { secrets, configuration } = parse(EVERYTHING)
    expect(secrets).toEqual([
      {
        project: 'shop',
        name: 'checkout',
        into: 'kubernetes://shop/checkout-client',
        place: { file: 'shop.yaml', line: expect.any(Number), column: 9 },
      },
    ])
    expect(JSON.stringify(toJson(ConfigurationSchema, configuration))).not.toContain('kubernetes')
  })

  it('leaves out members of public keys that are not known to be public', () => {
    const key = '{kty: OKP, crv: Ed25519, x: abc, comment: hidden}'
    const { configuration } = parse(`kind: ServiceUser\nproject: shop\nname: a\npublicKeys: [${key}]\n`)
    expect(configuration.serviceUsers[0]?.publicKeys[0]?.publicJwk).toBe('{"kty":"OKP","crv":"Ed25519","x":"abc"}')
  })
})

describe('a mistake in a file', () => {
  it('is named with file, line, column and field, and so are all others', () => {
    const text = [
      'kind: Project', //                          1
      'name: 12',
      'role: []',
      'roles: [a, a]',
      '---', //                                    5
      'kind: ServiceUser',
      'project: Shop',
      'name: ""',
      'projectRoles: {SHOP: [a]}',
      'publicKeys: [{kty: EC, d: x}, {kty: oct}]', // 10
      'clientCertificates: [{}]',
      'tokenLifetime: 5',
      'tokenClaims: []',
      'enabled: yes',
      'generateSecret: {into: file://x}', //       15
      'federatedIdentities: [{issuer: a, claims: {a: b}}]',
      'instanceRoles: [OWNER]',
      '---',
      'kind: Thing',
    ].join('\n')
    expect(mistakesIn(text)).toEqual([
      'shop.yaml:2:7: name: it must be a string, and is a number: put it in quotes',
      'shop.yaml:3:1: role: there is no such field',
      'shop.yaml:4:12: roles[1]: it is in the list already',
      'shop.yaml:7:10: project: a name of a project has 1 to 63 of a-z, 0-9 and -, and does not start with -',
      'shop.yaml:8:7: name: it has 1 to 200 characters',
      'shop.yaml:9:16: projectRoles.SHOP: a name of a project has 1 to 63 of a-z, 0-9 and -, and does not start with -',
      'shop.yaml:10:27: publicKeys[0].d: it is a private key: write the public key only, and replace this key, which others may have read by now',
      'shop.yaml:10:37: publicKeys[1].kty: it must be one of RSA, EC, OKP',
      'shop.yaml:11:22: clientCertificates[0]: it must have exactly one of subjectDn, sanDns, sanUri, thumbprint',
      'shop.yaml:12:16: tokenLifetime: it is a length of time, such as 90d, 12h, 30m or 300s',
      'shop.yaml:13:14: tokenClaims: it must be an object, and is an array',
      'shop.yaml:14:10: enabled: it must be a boolean, and is a string',
      'shop.yaml:15:24: generateSecret.into: it is kubernetes://namespace/name, file:///path or command:program arguments',
      'shop.yaml:16:23: federatedIdentities[0].subject: it is required',
      'shop.yaml:16:44: federatedIdentities[0].claims.a: a claim is named by a JSON pointer (RFC 6901), such as /repository',
      expect.stringMatching(/^shop\.yaml:17:17: instanceRoles\[0\]: it must be one of IAM_OWNER, IAM_OWNER_VIEWER/),
      'shop.yaml:19:7: kind: it must be one of Project, ServiceUser, TrustedIssuer, RotationPolicy',
    ])
  })

  it('of the server is found again by the field that the server names', () => {
    const { located } = parse(EVERYTHING)
    const locate = (path: string, message: string) => located([{ path, message }])[0]
    const lines = EVERYTHING.split('\n')
    const found = (field: string) => {
      const { line = 0, column = 0, field: named } = locate(field, 'it is wrong') ?? {}
      return [named, lines[line - 1]?.slice(column - 1)]
    }
    expect(found('projects[0].roles[1]')).toEqual(['roles[1]', 'reader]'])
    expect(found('serviceUsers[0].publicKeys[0].publicJwk')).toEqual(['publicKeys[0]', 'kty: OKP'])
    expect(found('serviceUsers[0].projectRoles[1].roles[1]')).toEqual(['projectRoles.stock[1]', 'writer] }'])
    expect(found('serviceUsers[0].managedProjects[1].role')).toEqual([
      'managedProjects.stock',
      'PROJECT_OWNER_VIEWER }',
    ])
    expect(found('serviceUsers[0].federatedIdentities[0].claims[0].value')).toEqual([
      'federatedIdentities[0].claims["/repository"]',
      'shop/checkout }',
    ])
    expect(found('serviceUsers[0].clientCertificates[0].match.sanUri')).toEqual([
      'clientCertificates[0].sanUri',
      'spiffe://shop.example/checkout',
    ])
    expect(found('trustedIssuers[1].keys.jwks')).toEqual([
      'keys.jwks',
      '{ keys: [{ kty: OKP, crv: Ed25519, x: abc }] }',
    ])
    expect(found('rotationPolicy.rotationInterval')).toEqual(['rotationInterval', '30d'])
    expect(locate('', 'it is too large')).toEqual({ field: '', message: 'it is too large' })
    expect(locate('serviceUsers', 'there are too many')).toEqual({
      field: 'serviceUsers',
      message: 'there are too many',
    })
  })

  it('may be a name that is in two files', () => {
    const files = ['a.yaml', 'b.yaml'].map((name) => ({ name, text: 'kind: Project\nname: shop\n' }))
    expect(() => parseConfiguration(files)).toThrow('b.yaml:2:7: name: the project shop is at a.yaml:2:7 already')
    const user = (name: string) =>
      `kind: ServiceUser\nproject: shop\nname: ${name}\ngenerateSecret: {into: "file:///secret"}\n`
    expect(mistakesIn(`${user('a')}---\n${user('b')}`)).toEqual([
      'shop.yaml:9:24: generateSecret.into: a secret into file:///secret is at shop.yaml:4:24 already',
    ])
  })

  it('is a file without a document', () => {
    expect(mistakesIn('# nothing yet\n---\n')).toEqual(['there is no document in it'])
  })

  it('is no file without a document beside others, which is named', () => {
    const texts = { 'a.yaml': '', 'b.yaml': 'kind: Project\nname: b\n', 'c.json': '[]', 'd.yaml': '# nothing yet\n' }
    const files = Object.entries(texts).map(([name, text]) => ({ name, text }))
    expect(parseConfiguration(files).emptyFiles).toEqual(['a.yaml', 'c.json', 'd.yaml'])
  })
})

describe('YAML that could mean something else than it says', () => {
  it.each([
    ['a duplicate key', 'kind: Project\nname: a\nname: b\n', 'shop.yaml:3:1: Map keys must be unique'],
    [
      'a tag',
      'kind: Project\nname: !env HOME\n',
      'shop.yaml:2:7: tags are not supported: put a text that begins with ! in quotes',
    ],
    [
      'a binary value',
      'kind: Project\nname: !!binary aGk=\n',
      'shop.yaml:2:7: tags are not supported: put a text that begins with ! in quotes',
    ],
    ['a merge key', 'kind: Project\nname: a\n<<: {roles: [x]}\n', 'shop.yaml:3:1: ["<<"]: there is no such field'],
    [
      'a prototype',
      'kind: Project\nname: a\n__proto__: {roles: [x]}\n',
      'shop.yaml:3:1: __proto__ is no name of a field',
    ],
    [
      'YAML 1.1, in which no is false',
      '%YAML 1.1\n---\nkind: ServiceUser\nproject: shop\nname: a\nenabled: no\n',
      'shop.yaml:6:10: enabled: it must be a boolean, and is a string',
    ],
  ])('%s is a mistake', (_, text, mistake) => {
    expect(mistakesIn(text)).toEqual([mistake])
  })

  it.each([
    'name: |s3cret',
    'name: >s3cret',
    'name: !s3cret',
    'name: !<s3cret>',
    'name: !s3cret! a',
    'name: *s3cret',
    'name: "a\\s3cret"',
    'name: @s3cret',
    'name: `s3cret',
    'name: %s3cret',
    'name: {s3cret',
    'name: [s3cret',
    'name: &s3cret',
    'name: &s3cret *s3cret',
    'name: "s3cret',
    "name: 's3cret",
    "name: ''s3cret",
    '%s3cret',
    '} s3cret',
    's3cret: - s3cret',
    '\ts3cret',
  ])('%s is a mistake whose message has nothing of the text in it', (line) => {
    const mistakes = mistakesIn(`kind: Project\n${line}\n`)
    expect(mistakes).not.toEqual([])
    expect(mistakes.join('\n')).not.toContain('cret')
  })

  it('few aliases that stand for many values are a mistake', () => {
    const bomb = ['a: &a [x,x,x,x,x,x,x,x,x,x]']
    for (const [name, other] of ['ba', 'cb', 'dc', 'ed'].map((pair) => [...pair] as [string, string])) {
      bomb.push(`${name}: &${name} [${Array(10).fill(`*${other}`).join(',')}]`)
    }
    expect(mistakesIn(bomb.join('\n'))).toEqual([
      'shop.yaml:2:8: by aliases a value stands in this document more than 100 times: write the values out',
    ])
  })

  it.each([
    ['that no anchor has', 'roles: [*x]\n', 'shop.yaml:3:9: no anchor of this name comes before this alias'],
    ['that is in what it stands for', 'roles: &x [*x]\n', 'shop.yaml:3:12: this alias is in what it stands for'],
  ])('an alias %s is a mistake', (_, roles, mistake) => {
    expect(mistakesIn(`kind: Project\nname: a\n${roles}`)).toEqual([mistake])
  })

  it('an alias is what it stands for', () => {
    const { configuration } = parse('kind: Project\nname: a\nroles: &x [r]\nscopes: *x\n')
    expect(configuration.projects[0]?.scopes).toEqual(['r'])
  })
})

describe('values in values', () => {
  const user = 'kind: ServiceUser\nproject: shop\nname: a\n'
  const tooDeep = 'values are in more than 64 others, one in the other'

  it('may be as deep as the limit', () => {
    const claims = `${'['.repeat(62)}${']'.repeat(62)}`
    expect(mistakesIn(`${user}tokenClaims: { a: ${claims} }\n`)).toEqual([])
    expect(mistakesIn(`${user}tokenClaims: { a: [${claims}] }\n`)).toEqual([`shop.yaml:4:81: ${tooDeep}`])
  })

  it.each([
    ['lists', '['.repeat(100_000), 65],
    ['objects', '{"a":'.repeat(100_000), 321],
  ])('that are deep are a mistake of JSON, as %s', (_, opening, column) => {
    const closing = opening.startsWith('[') ? ']' : '}'
    const text = `${opening}0${closing.repeat(100_000)}`
    expect(mistakesIn(text, 'a.json')).toEqual([`a.json:1:${column}: ${tooDeep}`])
  })

  it('that are deep are a mistake of YAML, one for each file', () => {
    const items = `${'- '.repeat(20_000)}a\n`
    const keys = Array.from({ length: 1_000 }, (_, depth) => `${' '.repeat(depth)}a:`).join('\n')
    for (const text of [items, keys, `${items}---\n${items}`, `${user}tokenClaims: {a: ${'['.repeat(20_000)}`]) {
      expect(mistakesIn(text)).toEqual([expect.stringMatching(new RegExp(`^shop\\.yaml:\\d+:\\d+: ${tooDeep}$`))])
    }
  })

  it('that are deep by aliases are a mistake too', () => {
    const deep = (value: string) => `${'['.repeat(30)}${value}${']'.repeat(30)}`
    const claims = ['x: &x', 'y: &y', 'z:'].map((start, step) => `  ${start} ${deep(['0', '*x', '*y'][step] ?? '')}`)
    expect(mistakesIn(`${user}tokenClaims:\n${claims.slice(0, 2).join('\n')}\n`)).toEqual([])
    expect(mistakesIn(`${user}tokenClaims:\n${claims.join('\n')}\n`)).toEqual([`shop.yaml:1:1: ${tooDeep}`])
  })
})

describe('the target of a secret', () => {
  const mistakeOf = (into: string) =>
    mistakesIn(`kind: ServiceUser\nproject: shop\nname: a\ngenerateSecret:\n  into: ${JSON.stringify(into)}\n`).map(
      (line) => line.replace('shop.yaml:5:9: generateSecret.into: ', ''),
    )

  it.each([
    'file:///var/lib/stock/keyturn.json',
    'file:///with blank/and%20blank/%C3%A9é/a%23b%3Fc%25.json',
    'file:///.hidden/..name/a..b',
    'command:vault kv put secret/a -',
    'kubernetes://shop/checkout.client',
  ])('may be %s', (into) => {
    expect(mistakeOf(into)).toEqual([])
  })

  it.each([
    ['a path with ..', 'file:///var/../etc/secret'],
    ['a path with an encoded ..', 'file:///var/%2e%2E/etc/secret'],
    ['a path with .', 'file:///var/./secret'],
    ['an encoded slash', 'file:///var/a%2Fb'],
    ['an empty name', 'file:///var//secret'],
    ['a folder', 'file:///var/'],
    ['only the root', 'file:////'],
    ['a query, which would be dropped', 'file:///var/secret?x=1'],
    ['a fragment, which would be dropped', 'file:///var/secret#1'],
    ['a backslash, which would become a slash', 'file:///var\\secret'],
    ['a blank at the end, which would be dropped', 'file:///var/secret '],
    ['a character that is not encoded well', 'file:///var/%zz'],
    ['bytes that are no text', 'file:///var/%ff'],
    ['half a character', 'file:///var/\ud800'],
  ])('is no file with %s', (_, into) => {
    expect(mistakeOf(into)).toEqual([
      'it is file:// and the whole path of a file: without . and .. as names, empty names, a query or a fragment; with %20 for a blank, %23 for #, %25 for % and %3F for ?',
    ])
  })

  it.each([
    ['NUL in a path', 'file:///var/\0'],
    ['an encoded NUL', 'file:///var/%00'],
    ['an encoded line break', 'file:///var/a%0ab'],
    ['a line break in a command', 'command:a\nb'],
    ['NUL in a command', 'command:a \0'],
  ])('has no %s', (_, into) => {
    expect(mistakeOf(into)).toEqual(['it has a control character, such as NUL or a line break'])
  })

  it.each([
    'kubernetes://shop/a..b',
    'kubernetes://shop/a.-b',
    'kubernetes://shop/../a',
    `kubernetes://shop/${'a'.repeat(254)}`,
  ])('is no name that Kubernetes refuses: %s', (into) => {
    expect(mistakeOf(into)).toEqual(['it is kubernetes://namespace/name, file:///path or command:program arguments'])
  })

  it('is one for one secret, also if it is written in two ways', () => {
    const user = (name: string, into: string) =>
      `kind: ServiceUser\nproject: shop\nname: ${name}\ngenerateSecret: {into: "${into}"}\n`
    expect(mistakesIn(`${user('a', 'file:///a%62c')}---\n${user('b', 'file:///abc')}`)).toEqual([
      'shop.yaml:9:24: generateSecret.into: a secret into file:///abc is at shop.yaml:4:24 already',
    ])
  })
})

describe('a configuration in JSON', () => {
  it('is one document, or an array of them', () => {
    expect(parse('{"kind": "Project", "name": "a"}', 'a.json').configuration.projects).toHaveLength(1)
    const two = '[\n\t{"kind": "Project", "name": "a"},\n\t{"kind": "Project", "name": "B"}\n]'
    expect(mistakesIn(two, 'a.json')).toEqual([
      'a.json:3:30: name: a name of a project has 1 to 63 of a-z, 0-9 and -, and does not start with -',
    ])
  })

  it('has no comments and no trailing commas', () => {
    expect(mistakesIn('{"kind": "Project",\n "name": "a",}', 'a.json')).toEqual([
      'a.json:2:14: this is not JSON (RFC 8259)',
    ])
  })
})
