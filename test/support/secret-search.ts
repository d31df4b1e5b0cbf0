/**
 * Finds secrets where they must not be: in whatever form a program could have written them down by mistake.
 */
import type { KeyObject } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'

/** How many bytes of a secret are looked for: enough to be no coincidence, few enough to be in one piece on disk. */
const NEEDLE_BYTES = 18

/** A secret and the byte sequences that would give it away. */
export interface Secret {
  readonly name: string
  readonly needles: readonly Buffer[]
}

/** A secret that is a text, such as a client secret or a token. */
export function secretText(name: string, text: string): Secret {
  const decoded = Buffer.from(text, 'base64url')
  const needles = [Buffer.from(text), ...encodings(Buffer.from(text))]
  // A text that is base64url itself may have been stored decoded.
  if (decoded.toString('base64url') === text) needles.push(...encodings(decoded))
  return { name, needles }
}

/** A private key: what of it is private, in every form from DER to JWK. */
export function secretKey(name: string, privateKey: KeyObject): Secret {
  const jwk = privateKey.export({ format: 'jwk' }) as Record<string, string>
  const members = ['d', 'p', 'q', 'dp', 'dq', 'qi'].flatMap((member) => jwk[member] ?? [])
  // A prime with a leading zero byte is nothing in DER to begin with, so the middle of each number is looked for.
  return { name, needles: members.flatMap((member) => encodings(Buffer.from(member, 'base64url'))) }
}

/** What no text of this service may have: the beginnings of private keys as PEM and as JWK. */
export const PRIVATE_KEY_MARKERS: Secret = {
  name: 'the mark of a private key',
  needles: ['PRIVATE KEY-----', '"d":"', '"d": "', '\\"d\\":'].map((text) => Buffer.from(text)),
}

/** The names of the secrets that are in these bytes. */
export function findSecrets(bytes: Buffer, secrets: readonly Secret[]): string[] {
  return secrets.filter(({ needles }) => needles.some((needle) => bytes.includes(needle))).map(({ name }) => name)
}

/** The secrets in the files below a folder, with the file. @param except Names of files that may hold secrets. */
export async function findSecretsBelow(
  folder: string,
  secrets: readonly Secret[],
  except: readonly string[] = [],
): Promise<{ file: string; secrets: string[] }[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile() && !except.includes(entry.name))
  const found: { file: string; secrets: string[] }[] = []
  for (const { parentPath, name } of files) {
    const file = join(parentPath, name)
    const names = findSecrets(await readFile(file), secrets)
    if (names.length > 0) found.push({ file, secrets: names })
  }
  return found
}

/** Raw, hexadecimal, base64 and base64url; base64 wherever in a longer text the bytes may begin. */
function encodings(whole: Buffer): Buffer[] {
  const start = Math.max(0, Math.floor((whole.length - NEEDLE_BYTES) / 2))
  const bytes = whole.subarray(start, start + NEEDLE_BYTES)
  const texts = new Set([bytes.toString('hex'), bytes.toString('hex').toUpperCase()])
  for (const skipped of [0, 1, 2]) {
    const aligned = bytes.subarray(skipped)
    const body = aligned.subarray(0, aligned.length - (aligned.length % 3))
    texts.add(body.toString('base64')).add(body.toString('base64url'))
  }
  return [bytes, ...[...texts].map((text) => Buffer.from(text))]
}
