import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createSecureServer } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { connect, type TLSSocket } from 'node:tls'
import { expect, it } from '@jest/globals'
import { ClientAuthorities } from '../../../../src/http/tls/client-authorities.ts'
import { closed } from '../../../support/closed.ts'

const FIXTURES = join(import.meta.dirname, '../../../support/tls')

it('an authority that is removed costs every client its connection, also after one that is being closed', async () => {
  const [cert, key] = await Promise.all(['cert', 'key'].map((kind) => readFile(join(FIXTURES, `first.${kind}.pem`))))
  const server = createSecureServer({ cert, key, ca: cert, requestCert: true, allowHTTP1: true })
  const authorities = new ClientAuthorities(server, new Set([new X509Certificate(cert!).fingerprint256]), 1000)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo

  const open = async () => {
    const client = connect({ port, host: '127.0.0.1', cert, key, rejectUnauthorized: false })
    client.on('error', () => {})
    const [accepted]: TLSSocket[] = await once(server, 'secureConnection')
    return { client, accepted: accepted! }
  }
  const [closing, other] = [await open(), await open()]
  const gone = [closed(closing.client), closed(other.client)]
  try {
    closing.accepted.destroy()
    authorities.replace(new Set())
    expect(other.accepted.destroyed).toBe(true)
    await Promise.all(gone)
  } finally {
    for (const { client } of [closing, other]) client.destroy()
    server.close()
  }
})
