import { toJson } from '@bufbuild/protobuf'
import { describe, expect, it } from '@jest/globals'
import { ConfigurationSchema } from '../../../gen/iam/config/v2/configuration_pb.js'
import { parseConfiguration } from '../../../src/configuration-files/configuration.ts'
import { ConfigurationMistakes } from '../../../src/configuration-files/mistakes.ts'

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
  it('says which secrets shall be handed over, and keeps that from the server', () => {
    const user = 'project: shop, name: checkout, generateSecret: { into: file:///run/checkout.json }'
    const { secrets, configuration } = parse(`projects: [{ name: shop }]\n---\nservice_users:\n  - { ${user} }\n`)
    const path = 'serviceUsers[0].generateSecret.into'
    expect(secrets).toEqual([{ project: 'shop', name: 'checkout', into: 'file:///run/checkout.json', path }])
    expect(toJson(ConfigurationSchema, configuration)).toEqual({
      projects: [{ name: 'shop' }],
      serviceUsers: [{ project: 'shop', name: 'checkout' }],
    })
  })
})

describe('a mistake in a file', () => {
  it('is named with file, line, column and field, and so are all others', () => {
    const text = [
      'projects:', //                                                       1
      '  - { name: 12, role: [], roles: a }',
      '  - [a]',
      'things: []',
      '---', //                                                             5
      'serviceUsers:',
      '  - name: {}',
      '    enabled: yes',
      '    tokenLifetime: 5m',
      '    instanceRoles: [OWNER]', //                                       10
      '    publicKeys:',
      `      - publicJwk: '{"kty":"OKP","d":"x"}'`,
      '      - expirationDate: tomorrow',
      '    projectRoles: [{ project: a, roles: [a, 1] }]',
      '    generateSecret: { into: file://x }', //                           15
      '---',
      'trustedIssuers:',
      '  - maxLifetimeSeconds: 1.5',
      '    keys: { discovery: {}, jwksUrl: https://a.example }',
      '---', //                                                             20
      'serviceUsers:',
      '  - publicKeys:',
      `      - publicJwk: '{"keys":[{"kty":"oct","k":"x"}]}'`,
      '    generateSecret: { into: file://x }',
    ].join('\n')
    expect(mistakesIn(text)).toEqual([
      'shop.yaml:2:13: projects[0].name: it must be a string: put it in quotes',
      'shop.yaml:2:17: projects[0].role: there is no such field',
      'shop.yaml:2:34: projects[0].roles: it must be a list',
      'shop.yaml:3:5: projects[1]: it must be an object',
      'shop.yaml:4:1: things: there is no such field',
      'shop.yaml:7:11: serviceUsers[0].name: it must be a string',
      'shop.yaml:8:14: serviceUsers[0].enabled: it must be true or false',
      'shop.yaml:9:20: serviceUsers[0].tokenLifetime: it must be a length of time in seconds, such as 300s',
      expect.stringMatching(
        /^shop\.yaml:10:21: serviceUsers\[0\]\.instanceRoles\[0\]: it must be one of INSTANCE_ROLE_IAM_OWNER, /,
      ),
      expect.stringMatching(
        /^shop\.yaml:13:25: serviceUsers\[0\]\.publicKeys\[1\]\.expirationDate: it must be a time /,
      ),
      'shop.yaml:14:45: serviceUsers[0].projectRoles[0].roles[1]: it must be a string: put it in quotes',
      'shop.yaml:18:25: trustedIssuers[0].maxLifetimeSeconds: it must be a whole number',
      'shop.yaml:19:11: trustedIssuers[0].keys: it has two fields of which it may have one',
      expect.stringMatching(/^shop\.yaml:23:20: serviceUsers\[0\]\.publicKeys\[0\]\.publicJwk: it is a private key: /),
      'shop.yaml:24:29: serviceUsers[0].generateSecret.into: it is file:///path or command:program arguments',
    ])
  })

  it('may be what two files cannot both have', () => {
    const policies = ['a.yaml', 'b.yaml'].map((name) => ({ name, text: 'rotationPolicy: {}\n' }))
    expect(() => parseConfiguration(policies)).toThrow(
      'b.yaml:1:1: rotationPolicy: there is another rotation policy before it',
    )
    const user = (name: string) => `  - { name: ${name}, generateSecret: { into: "file:///secret" } }\n`
    expect(mistakesIn(`serviceUsers:\n${user('a')}${user('b')}`)).toEqual([
      'shop.yaml:3:40: serviceUsers[1].generateSecret.into: a secret of another user goes into file:///secret already',
    ])
  })

  it('is no file without a document beside others, which is named', () => {
    const texts = { 'a.yaml': '', 'b.yaml': 'projects: [{ name: b }]\n', 'd.yaml': '# nothing yet\n' }
    const files = Object.entries(texts).map(([name, text]) => ({ name, text }))
    expect(parseConfiguration(files).emptyFiles).toEqual(['a.yaml', 'd.yaml'])
  })
})

describe('YAML that could mean something else than it says', () => {
  it.each([
    ['a duplicate key', 'projects: []\nprojects: []\n', 'shop.yaml:2:1: Map keys must be unique'],
    [
      'a tag',
      'projects: [{ name: !env HOME }]\n',
      'shop.yaml:1:20: tags are not supported: put a text that begins with ! in quotes',
    ],
    [
      'a binary value',
      'projects: [{ name: !!binary aGk= }]\n',
      'shop.yaml:1:20: tags are not supported: put a text that begins with ! in quotes',
    ],
    ['a merge key', 'projects:\n - name: a\n   <<: {}\n', 'shop.yaml:3:4: projects[0]["<<"]: there is no such field'],
    [
      'a prototype',
      'projects:\n - name: a\n   __proto__: {}\n',
      'shop.yaml:3:4: projects[0].__proto__: there is no such field',
    ],
    [
      'YAML 1.1, in which no is false',
      '%YAML 1.1\n---\nserviceUsers: [{ enabled: no }]\n',
      'shop.yaml:3:27: serviceUsers[0].enabled: it must be true or false',
    ],
    [
      'an alias',
      'projects: [{ roles: &x [r], scopes: *x }]\n',
      'shop.yaml:1:37: aliases are not supported: write the value out',
    ],
    ['an alias of nothing', 'projects: [*x]\n', 'shop.yaml:1:12: aliases are not supported: write the value out'],
  ])('%s is a mistake', (_, text, mistake) => {
    expect(mistakesIn(text)).toEqual([mistake])
  })

  it.each([
    'name: |s3cret',
    'name: !s3cret',
    'name: *s3cret',
    'name: "a\\s3cret"',
    'name: @s3cret',
    'name: {s3cret',
    'name: &s3cret',
    'name: "s3cret',
    "name: 's3cret",
  ])('%s is a mistake whose message has nothing of the text in it', (line) => {
    const mistakes = mistakesIn(`projects: []\n${line}\n`)
    expect(mistakes).not.toEqual([])
    expect(mistakes.join('\n')).not.toContain('cret')
  })

  it.each([
    ['a.json', `${'['.repeat(100_000)}0${']'.repeat(100_000)}`],
    ['a.json', `${'{"a":'.repeat(100_000)}0${'}'.repeat(100_000)}`],
    ['a.yaml', `${'- '.repeat(20_000)}a\n`],
    ['a.yaml', '['.repeat(20_000)],
  ])('values that are very deep in each other are a mistake of %s', (name, text) => {
    expect(mistakesIn(text, name)).toEqual([expect.stringMatching(/: lists and objects are too deep in each other$/)])
  })
})

describe('the target of a secret', () => {
  const mistakeOf = (into: string) =>
    mistakesIn(`serviceUsers: [{ generateSecret: { into: ${JSON.stringify(into)} } }]\n`).map((line) =>
      line.replace('shop.yaml:1:42: serviceUsers[0].generateSecret.into: ', ''),
    )

  it.each([
    'file:///var/lib/stock/keyturn.json',
    'file:///with blank/and%20blank/%C3%A9é/a%23b%3Fc%25.json',
    'file:///.hidden/..name/a..b',
    'command:vault kv put secret/a -',
  ])('may be %s', (into) => {
    expect(mistakeOf(into)).toEqual([])
  })

  it.each([
    ['a path with ..', 'file:///var/../etc/secret'],
    ['a path with an encoded ..', 'file:///var/%2e%2E/etc/secret'],
    ['an encoded slash', 'file:///var/a%2Fb'],
    ['a folder', 'file:///var/'],
    ['a query, which would be dropped', 'file:///var/secret?x=1'],
    ['a backslash, which would become a slash', 'file:///var\\secret'],
    ['a character that is not encoded well', 'file:///var/%zz'],
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
})

describe('a configuration in JSON', () => {
  it('is one document', () => {
    expect(parse('{"projects": [{"name": "a"}]}', 'a.json').configuration.projects).toHaveLength(1)
    expect(mistakesIn('[\n\t{}\n]', 'a.json')).toEqual(['a.json:1:1: it must be an object'])
  })
})
