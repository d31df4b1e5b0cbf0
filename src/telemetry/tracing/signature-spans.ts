/**
 * Spans for signatures, which a factory of signers does not make itself.
 */
import type { SignerFactory } from '../../domain/ports.ts'
import type { Tracing } from './tracing.ts'

/** The same factory, with a span for each signature that is made for a request. */
export function traceSignatures(signers: SignerFactory, tracing: Pick<Tracing, 'calls'>): SignerFactory {
  return { open: async (key, sealedPrivateKey) => tracing.calls('Signer', await signers.open(key, sealedPrivateKey)) }
}
