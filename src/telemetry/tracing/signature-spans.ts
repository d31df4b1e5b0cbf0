/**
 * Spans of signatures.
 */
import type { SignerFactory } from '../../domain/ports/keys.ts'
import type { Tracing } from './tracing.ts'

/** Wraps the signers of a factory with a span for each signature within a request. */
export function traceSignatures(signers: SignerFactory, tracing: Pick<Tracing, 'calls'>): SignerFactory {
  return { open: async (key, sealedPrivateKey) => tracing.calls('Signer', await signers.open(key, sealedPrivateKey)) }
}
