/**
 * Clients with ids and secrets that are derived from a number, here and in SQL, so that nobody has to hand a list around.
 */
import { hash } from 'node:crypto'
import type { Credentials } from './contender.ts'

/** The project that they belong to. */
export const PROJECT_NAME = 'bench'
/** The id of that project. */
const PROJECT_ID = '6b656e63-6800-4000-8000-70726f6a6563'

/** The clients with the numbers 1 to `count`. */
export function derivedClients(count: number): Credentials[] {
  return Array.from({ length: count }, (_, index) => {
    const digest = hash('md5', `user ${index + 1}`, 'hex')
    const userId = digest.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
    const clientSecret = `ktn_cs_${hash('sha256', `secret ${index + 1}`, 'hex').slice(0, 43)}`
    return { clientId: `${userId}@${PROJECT_NAME}`, clientSecret }
  })
}

/**
 * The SQL that inserts the same clients, one secret each. As many statements as strings.
 *
 * @param secretKey What the instance derives for client secrets. PostgreSQL has no HMAC, so it is written out (RFC 2104 §2).
 */
export function insertDerivedClients(count: number, secretKey: Uint8Array): readonly string[] {
  const [inner, outer] = [0x36, 0x5c].map((pad) => {
    const block = Buffer.alloc(64, pad)
    for (const [i, byte] of secretKey.entries()) block[i] = pad ^ byte
    return `decode('${block.toString('hex')}', 'hex')`
  })
  const secret = `'ktn_cs_' || left(encode(sha256(convert_to('secret ' || n, 'UTF8')), 'hex'), 43)`
  return [
    `insert into projects (project_id, name, creation_date) values ('${PROJECT_ID}', '${PROJECT_NAME}', now())`,
    `insert into service_users (user_id, project_id, name, enabled, settings, creation_date)
     select md5('user ' || n)::uuid, '${PROJECT_ID}', 'robot ' || n, true, '{"clientCredentialsEnabled":true}', now() from generate_series(1, ${count}) n`,
    `insert into credentials (credential_id, user_id, kind, hash, creation_date)
     select gen_random_uuid(), md5('user ' || n)::uuid, 'client_secret',
       sha256(${outer} || sha256(${inner} || sha256(convert_to(${secret}, 'UTF8')))), now()
     from generate_series(1, ${count}) n`,
    'update instance set version = version + 1',
    'analyze',
  ]
}
