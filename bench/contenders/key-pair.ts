/**
 * A signing key for the contenders that are not Keyturn.
 */
import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import type { Algorithm } from './contender.ts'

/** A new private key, of the kind that Keyturn makes for the algorithm. */
export function newPrivateKey(algorithm: Algorithm): KeyObject {
  switch (algorithm) {
    case 'RS256':
      return generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey
    case 'ES256':
      return generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
    case 'EdDSA':
      return generateKeyPairSync('ed25519').privateKey
  }
}

/** Reads the name of an algorithm. @throws {Error} if it is none of them. */
export function parseAlgorithm(name: string | undefined): Algorithm {
  if (name === 'RS256' || name === 'ES256' || name === 'EdDSA') return name
  throw new Error(`not an algorithm: ${name}`)
}
