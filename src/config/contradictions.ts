/** Mistakes that the form of a single variable does not show: settings that contradict each other. */
import { relative, resolve } from 'node:path'
import { MASTER_KEY_FILE } from './config.ts'
import { DEFAULT_DATA_DIR } from './environment.ts'

/** In the data directory: itself, the master key, the lock and the folders of the embedded database, which owns these names. */
const TAKEN = ['', MASTER_KEY_FILE, 'lock', 'postgres', 'postgres.new', 'programs']

/** Of each of these, one may be set. */
const ALTERNATIVES = [
  ['KEYTURN_BOOTSTRAP_FILE', 'KEYTURN_INITIAL_CREDENTIALS_FILE'],
  ['KEYTURN_DATABASE_URL', 'KEYTURN_DATABASE_URL_FILE'],
  ['KEYTURN_MASTER_KEYS', 'KEYTURN_MASTER_KEYS_FILE', 'KEYTURN_MASTER_KEYS_COMMAND'],
] as const

const OPENID = ['KEYTURN_OPENID_ISSUER', 'KEYTURN_OPENID_CLIENT_ID', 'KEYTURN_OPENID_ROLES']
const OPENID_OPTIONS = ['KEYTURN_OPENID_CLIENT_SECRET_FILE', 'KEYTURN_OPENID_SCOPES']

/** The mistakes in what is given. The messages repeat no value. */
export function contradictions(given: Readonly<Record<string, string>>): string[] {
  const has = (variable: string) => given[variable] !== undefined
  const { KEYTURN_MTLS: mtls = 'off', KEYTURN_DATA_DIR: dataDir = DEFAULT_DATA_DIR, KEYTURN_CREDENTIALS: file } = given
  const [, databases, masterKeys] = ALTERNATIVES
  const hasPostgres = databases.some(has)
  const problems = ALTERNATIVES.map((group) => group.filter(has))
    .filter((group) => group.length > 1)
    .map((group) => `${group.join(' and ')}: set one of them only`)
  if (has('KEYTURN_TLS_CERT_FILE') !== has('KEYTURN_TLS_KEY_FILE'))
    problems.push('KEYTURN_TLS_CERT_FILE and KEYTURN_TLS_KEY_FILE: both are needed, or none')
  if (has('KEYTURN_TLS_CLIENT_CA_FILE') && !has('KEYTURN_TLS_CERT_FILE'))
    problems.push('KEYTURN_TLS_CLIENT_CA_FILE: needs KEYTURN_TLS_CERT_FILE and KEYTURN_TLS_KEY_FILE')
  if ([...OPENID, ...OPENID_OPTIONS].some(has) && !OPENID.every(has))
    problems.push(`${OPENID.join(', ')}: all of them are needed to sign people in, or none`)
  if (mtls === 'tls' && !has('KEYTURN_TLS_CERT_FILE'))
    problems.push('KEYTURN_MTLS: tls needs KEYTURN_TLS_CERT_FILE and KEYTURN_TLS_KEY_FILE')
  if (mtls.includes('client-cert') && !has('KEYTURN_TRUSTED_PROXIES'))
    problems.push('KEYTURN_MTLS: a header needs KEYTURN_TRUSTED_PROXIES, from which alone it is believed')
  if (has('KEYTURN_MTLS_CA_FILE') && mtls === 'off')
    problems.push('KEYTURN_MTLS_CA_FILE: means nothing without KEYTURN_MTLS')
  for (const variable of ['KEYTURN_PRIMARY_URL', 'KEYTURN_PRIMARY_DATABASE_URL'].filter(has)) {
    if (!hasPostgres)
      problems.push(`${variable}: means nothing without KEYTURN_DATABASE_URL, which may be that of a standby`)
  }
  if (file !== undefined && TAKEN.includes(relative(resolve(dataDir), resolve(file)).split('/')[0] ?? ''))
    problems.push('KEYTURN_CREDENTIALS: must not be a file that the data directory needs for something else')
  if (hasPostgres && !masterKeys.some(has))
    problems.push(
      'KEYTURN_MASTER_KEYS: required with a PostgreSQL database, and the same for every replica; make one with "keyturn master-key generate"',
    )
  return problems
}
