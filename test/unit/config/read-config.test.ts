import { writeFile } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { join, resolve } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { ConfigError } from '../../../src/config/config.ts'
import { credentialsFileFrom } from '../../../src/config/environment.ts'
import { readConfig } from '../../../src/config/read-config.ts'
import { removeFolder, temporaryFolder } from '../../support/keyturn.ts'

const MASTER_KEYS = `mk-1:${Buffer.alloc(32, 7).toString('base64url')}`

function problemsOf(environment: Record<string, string>, flags: Record<string, string> = {}): readonly string[] {
  try {
    readConfig(flags, environment)
    return []
  } catch (error) {
    if (error instanceof ConfigError) return error.problems
    throw error
  }
}

describe('the configuration', () => {
  it.each([
    ['KEYTURN_LISTEN', ['8080', 'host', ':8080', '127.0.0.1:65536', '127.0.0.1:-1', 'a b:1', '::1:80']],
    [
      'KEYTURN_BASE_URL',
      [
        'id.example.com',
        'http://id.example.com',
        'ftp://localhost',
        'https://a.example/path',
        'https://a.example?x',
        'https://u:p@a.example',
        'http://127.0.0.1.example.com',
      ],
    ],
    ['KEYTURN_DATABASE_URL', ['localhost', 'mysql://localhost/x']],
    ['KEYTURN_MASTER_KEYS', ['mk-1:short', 'mk-1', `${MASTER_KEYS},${MASTER_KEYS}`]],
    ['KEYTURN_MASTER_KEYS_COMMAND', [' ', '[]', '["vault"', '[1]', '[""]', '{"a":1}x\0', '["\\u0000"]']],
    ['KEYTURN_DRAIN_SECONDS', ['-1', '301']],
    ['KEYTURN_JWKS_MAX_AGE', ['-1', '1.5', '1e3', '5m', ' 5', '0x10']],
    ['KEYTURN_TOKEN_LIFETIME', ['0', '86401']],
    ['KEYTURN_ASSERTION_AUDIENCE', ['both', 'Issuer', 'https://id.example.com']],
    ['KEYTURN_MAX_WEB_KEYS', ['1', '1001']],
    ['KEYTURN_MAX_CACHED_USERS', ['999', '500001', '1e4']],
    ['KEYTURN_MAX_STALENESS', ['0']],
    ['KEYTURN_BETA_API', ['yes', 'true']],
    ['KEYTURN_ZITADEL_API', ['yes', 'true']],
    ['KEYTURN_AUDIT_RETENTION', ['0', '3651']],
    ['KEYTURN_MAX_PAT_LIFETIME', ['0', '3651', '90d']],
    ['KEYTURN_METRICS_LISTEN', ['on', '9464']],
    ['KEYTURN_DATABASE_MAX_CONNECTIONS', ['3', '101']],
    ['KEYTURN_CHANGE_FEED', ['off']],
    ['KEYTURN_WORKERS', ['0', '65', 'all', '1.5', '-1']],
    ['KEYTURN_TLS_CLIENT_CA_FILE', ['/ca.pem']],
    ['KEYTURN_MTLS', ['on', 'tls', 'client-cert', 'x-forwarded-client-cert']],
    ['KEYTURN_MTLS_CA_FILE', ['/ca.pem']],
    ['KEYTURN_TRUSTED_PROXIES', ['proxy', '10.0.0.0/33', '::1/129', '10.0.0.1,nothing', '10.0.0.0/', '/8']],
    ['KEYTURN_ISSUER_NETWORKS', ['localhost', '10.0.0.0/33']],
    ['OTEL_EXPORTER_OTLP_ENDPOINT', ['collector']],
    ['KEYTURN_LOG_LEVEL', ['verbose']],
    ['KEYTURN_CREDENTIALS', ['.keyturn', '.keyturn/master.key', '.keyturn/x/../lock', '.keyturn/postgres/admin.json']],
  ])('refuses a %s such as %j', (variable, values) => {
    for (const value of values) {
      const environment: Record<string, string> = { KEYTURN_MASTER_KEYS: MASTER_KEYS, [variable]: value }
      expect(problemsOf(environment).join()).toContain(variable)
    }
  })

  it.each([
    ['KEYTURN_BASE_URL', 'https://id.example.com/', 'baseUrl', 'https://id.example.com'],
    ['KEYTURN_BASE_URL', 'http://127.0.0.5:8080', 'baseUrl', 'http://127.0.0.5:8080'],
    ['KEYTURN_BASE_URL', 'http://[::1]:8080', 'baseUrl', 'http://[::1]:8080'],
    ['KEYTURN_LISTEN', '[::]:0', 'listen', { host: '::', port: 0 }],
    ['KEYTURN_METRICS_LISTEN', 'off', 'metricsListen', null],
    ['KEYTURN_JWKS_MAX_AGE', '0', 'jwksMaxAgeSeconds', 0],
    [
      'KEYTURN_TRUSTED_PROXIES',
      '10.0.0.0/8, fd00::/8,192.0.2.1',
      'trustedProxies',
      ['10.0.0.0/8', 'fd00::/8', '192.0.2.1'],
    ],
    ['KEYTURN_ISSUER_NETWORKS', '10.96.0.0/12, ::1', 'issuerNetworks', ['10.96.0.0/12', '::1']],
    ['KEYTURN_OUTBOUND_NETWORKS', '10.0.0.0/8', 'outboundNetworks', ['10.0.0.0/8']],
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'http://127.0.0.1:4318', 'tracesTo', 'http://127.0.0.1:4318'],
    ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'http://127.0.0.1:4318/t', 'tracesTo', 'http://127.0.0.1:4318/t'],
  ])('takes %s=%s', (variable, value, member, expected) => {
    expect(readConfig({}, { [variable]: value })).toHaveProperty(member, expected)
  })

  const OPENID = {
    KEYTURN_OPENID_ISSUER: 'https://login.example.com/realms/main',
    KEYTURN_OPENID_CLIENT_ID: 'keyturn',
    KEYTURN_OPENID_ROLES: '{"IAM_OWNER":{"groups":"platform"},"IAM_OWNER_VIEWER":{"groups":["dev"],"a:b":["x"]}}',
  }

  it('takes an OpenID provider with what its claims give', () => {
    expect(readConfig({}, OPENID).openId).toEqual({
      issuer: 'https://login.example.com/realms/main',
      clientId: 'keyturn',
      clientSecretFile: null,
      scopes: 'openid profile email',
      roles: [
        { role: 'IAM_OWNER', claim: 'groups', values: ['platform'] },
        { role: 'IAM_OWNER_VIEWER', claim: 'groups', values: ['dev'] },
        { role: 'IAM_OWNER_VIEWER', claim: 'a:b', values: ['x'] },
      ],
    })
  })

  it.each([
    ['KEYTURN_OPENID_ISSUER', undefined],
    ['KEYTURN_OPENID_ISSUER', 'http://login.example.com'],
    ['KEYTURN_OPENID_ISSUER', 'https://login.example.com/?a'],
    ['KEYTURN_OPENID_SCOPES', 'profile'],
    ['KEYTURN_OPENID_ROLES', '{}'],
    ['KEYTURN_OPENID_ROLES', '{"IAM_ADMIN":{"groups":"platform"}}'],
    ['KEYTURN_OPENID_ROLES', '{"IAM_OWNER":{"admin":true}}'],
  ])('takes no OpenID provider with %s=%s', (variable, value) => {
    expect(problemsOf({ ...OPENID, [variable]: value }).join()).toContain(variable)
  })

  it('makes as many workers as there are cores if asked for "auto"', () => {
    expect(readConfig({ KEYTURN_WORKERS: 'auto' }, {}).workers).toBe(Math.min(64, availableParallelism()))
    expect(readConfig({ KEYTURN_WORKERS: '3' }, {}).workers).toBe(3)
  })

  it('uses DATABASE_URL, and takes an empty variable as one that is not set', () => {
    const environment = {
      DATABASE_URL: 'postgres://a/one',
      KEYTURN_DATABASE_URL: '',
      KEYTURN_MASTER_KEYS: MASTER_KEYS,
      KEYTURN_LISTEN: '',
    }
    expect(readConfig({}, environment).database).toEqual({ kind: 'postgres', url: 'postgres://a/one' })
  })

  it('takes the URL of the database from a file, and from one place only', async () => {
    const folder = await temporaryFolder()
    const [file, other] = [join(folder, 'database-url'), join(folder, 'other')]
    await writeFile(file, 'postgres://keyturn:s3cret@db/keyturn\n')
    await writeFile(other, 's3cret')
    const environment = { KEYTURN_DATABASE_URL_FILE: file, KEYTURN_MASTER_KEYS: MASTER_KEYS }
    const config = readConfig({}, { ...environment, DATABASE_URL: 'postgres://a/one' })
    expect(config.database).toEqual({ kind: 'postgres', url: 'postgres://keyturn:s3cret@db/keyturn' })
    expect(JSON.stringify(config.shown)).not.toContain('s3cret')
    expect(problemsOf({ KEYTURN_DATABASE_URL_FILE: file }).join()).toContain('KEYTURN_MASTER_KEYS: required')
    expect(problemsOf({ ...environment, KEYTURN_DATABASE_URL: 'postgres://a/two' })).toEqual([
      'KEYTURN_DATABASE_URL and KEYTURN_DATABASE_URL_FILE: set one of them only',
    ])
    for (const [path, problem] of [
      [other, 'must be the path of a file with a URL that starts with postgres://'],
      [join(folder, 'missing'), `${join(folder, 'missing')} cannot be read: ENOENT`],
    ]) {
      expect(problemsOf({ ...environment, KEYTURN_DATABASE_URL_FILE: path as string })).toEqual([
        `KEYTURN_DATABASE_URL_FILE: ${problem}`,
      ])
    }
    await removeFolder(folder)
  })

  it('wants master keys with PostgreSQL, from one place only', () => {
    expect(problemsOf({ DATABASE_URL: 'postgres://a/b' }).join()).toContain('KEYTURN_MASTER_KEYS: required')
    expect(problemsOf({ KEYTURN_MASTER_KEYS: MASTER_KEYS, KEYTURN_MASTER_KEYS_FILE: '/x' }).join()).toContain(
      'KEYTURN_MASTER_KEYS and KEYTURN_MASTER_KEYS_FILE: set one of them only',
    )
    const both = { KEYTURN_MASTER_KEYS_FILE: '/x', KEYTURN_MASTER_KEYS_COMMAND: 'vault' }
    expect(problemsOf(both)).toEqual(['KEYTURN_MASTER_KEYS_FILE and KEYTURN_MASTER_KEYS_COMMAND: set one of them only'])
    expect(problemsOf({ DATABASE_URL: 'postgres://a/b', KEYTURN_MASTER_KEYS_COMMAND: 'vault' })).toEqual([])
  })

  it('shows nothing secret of a command, nor in what it complains about', () => {
    const { shown } = readConfig({}, { KEYTURN_MASTER_KEYS_COMMAND: 'vault read --token s3cret' })
    expect(shown.KEYTURN_MASTER_KEYS_COMMAND).toBe('vault …')
    const environment = { KEYTURN_MASTER_KEYS: `${MASTER_KEYS}x`, KEYTURN_DATABASE_URL: 'mysql://u:s3cret@db' }
    const complaints = problemsOf(environment)
    expect(complaints).toHaveLength(2)
    expect(complaints.join()).not.toMatch(/s3cret|BwcHBwc/)
  })
})

describe('the credentials file', () => {
  it.each([
    [{ credentials: '/flag' }, { KEYTURN_CREDENTIALS: '/variable' }, '/flag'],
    [{}, { KEYTURN_CREDENTIALS: '/variable' }, '/variable'],
    [{}, { KEYTURN_DATA_DIR: '/data' }, '/data/admin.json'],
    [{}, {}, resolve('.keyturn/admin.json')],
  ])('of %j and %j is %s', (flags, environment, expected) => {
    expect(credentialsFileFrom(flags, environment)).toBe(expected)
  })
})
