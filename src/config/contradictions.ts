/**
 * Mistakes that the form of a single variable does not show: settings that contradict each other, and master keys that cannot be parsed.
 */
import { relative, resolve } from 'node:path'
import { parseMasterKeys } from '../crypto/master-keys.ts'
import { MASTER_KEY_FILE } from './config.ts'
import { DEFAULT_DATA_DIR } from './environment.ts'

/** Other names in the data directory: the folders of the embedded database, which `embedded-postgres/` owns, and the lock. */
const DATABASE_FOLDERS = ['postgres', 'postgres.new', 'database', 'programs']
const LOCK_FILE = 'lock'

/** The variables that say where the master keys come from. */
const MASTER_KEY_SOURCES = ['KEYTURN_MASTER_KEYS', 'KEYTURN_MASTER_KEYS_FILE', 'KEYTURN_MASTER_KEYS_COMMAND'] as const

/** The mistakes in what is given. The messages repeat no value that may be secret. */
export function contradictions(given: Readonly<Record<string, string>>): string[] {
  const problems: string[] = []
  const has = (variable: string) => given[variable] !== undefined
  const hasPostgres = has('KEYTURN_DATABASE_URL') || has('KEYTURN_DATABASE_URL_FILE')
  if (has('KEYTURN_TLS_CERT_FILE') !== has('KEYTURN_TLS_KEY_FILE')) {
    problems.push('KEYTURN_TLS_CERT_FILE and KEYTURN_TLS_KEY_FILE: both are needed, or none')
  }
  if (has('KEYTURN_TLS_CLIENT_CA_FILE') && !has('KEYTURN_TLS_CERT_FILE')) {
    problems.push('KEYTURN_TLS_CLIENT_CA_FILE: needs KEYTURN_TLS_CERT_FILE and KEYTURN_TLS_KEY_FILE')
  }
  const openId = ['KEYTURN_OPENID_ISSUER', 'KEYTURN_OPENID_CLIENT_ID', 'KEYTURN_OPENID_ROLES']
  const others = ['KEYTURN_OPENID_CLIENT_SECRET_FILE', 'KEYTURN_OPENID_SCOPES']
  if ([...openId, ...others].some(has) && !openId.every(has)) {
    problems.push(`${openId.join(', ')}: all of them are needed to sign people in, or none`)
  }
  if (given.KEYTURN_MTLS === 'tls' && !has('KEYTURN_TLS_CERT_FILE')) {
    problems.push('KEYTURN_MTLS: tls needs KEYTURN_TLS_CERT_FILE and KEYTURN_TLS_KEY_FILE')
  }
  if ((given.KEYTURN_MTLS ?? '').includes('client-cert') && !has('KEYTURN_TRUSTED_PROXIES')) {
    problems.push('KEYTURN_MTLS: a header needs KEYTURN_TRUSTED_PROXIES, from which alone it is believed')
  }
  if (has('KEYTURN_MTLS_CA_FILE') && (given.KEYTURN_MTLS ?? 'off') === 'off') {
    problems.push('KEYTURN_MTLS_CA_FILE: means nothing without KEYTURN_MTLS')
  }
  if (has('KEYTURN_BOOTSTRAP_FILE') && has('KEYTURN_INITIAL_CREDENTIALS_FILE')) {
    problems.push('KEYTURN_BOOTSTRAP_FILE and KEYTURN_INITIAL_CREDENTIALS_FILE: set one of them only')
  }
  if (has('KEYTURN_DATABASE_URL') && has('KEYTURN_DATABASE_URL_FILE')) {
    problems.push('KEYTURN_DATABASE_URL and KEYTURN_DATABASE_URL_FILE: set one of them only')
  }
  const sources = MASTER_KEY_SOURCES.filter(has)
  if (sources.length > 1) problems.push(`${sources.join(' and ')}: set one of them only`)
  for (const variable of ['KEYTURN_PRIMARY_URL', 'KEYTURN_PRIMARY_DATABASE_URL']) {
    if (has(variable) && !hasPostgres) {
      problems.push(`${variable}: means nothing without KEYTURN_DATABASE_URL, which may be that of a standby`)
    }
  }
  if (given.KEYTURN_CREDENTIALS !== undefined && isOwnFile(given.KEYTURN_CREDENTIALS, given.KEYTURN_DATA_DIR)) {
    problems.push('KEYTURN_CREDENTIALS: must not be a file that the data directory needs for something else')
  }
  if (given.KEYTURN_MASTER_KEYS !== undefined) problems.push(...masterKeyProblems(given.KEYTURN_MASTER_KEYS))
  if (hasPostgres && sources.length === 0) {
    problems.push(
      'KEYTURN_MASTER_KEYS: required with a PostgreSQL database, and the same for every replica; make one with "keyturn master-key generate"',
    )
  }
  return problems
}

function isOwnFile(credentials: string, dataDir: string = DEFAULT_DATA_DIR): boolean {
  const inside = relative(resolve(dataDir), resolve(credentials))
  return ['', MASTER_KEY_FILE, LOCK_FILE].includes(inside) || DATABASE_FOLDERS.includes(inside.split('/')[0] ?? '')
}

function masterKeyProblems(text: string): string[] {
  try {
    parseMasterKeys(text)
    return []
  } catch (error) {
    return [`KEYTURN_MASTER_KEYS: ${error instanceof Error ? error.message : String(error)}`]
  }
}
