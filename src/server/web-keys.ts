/**
 * Makes the web keys and their rotation.
 */
import { KeyRotation } from '../app/keys/key-rotation.ts'
import { Rotator } from '../app/keys/rotator.ts'
import { WebKeys } from '../app/keys/web-keys.ts'
import type { ServiceParts } from '../rpc/services.ts'
import { createInstanceReader } from '../storage/instance/instance-reader.ts'
import { createKeyStore } from '../storage/keys/key-store.ts'
import type { ServicesOptions } from './services.ts'
import { systemClock } from './system-clock.ts'

/** What changes web keys, by request and by the clock. */
export function startWebKeys(options: ServicesOptions): Pick<ServiceParts, 'rotation' | 'webKeys'> {
  const { config, log, stack, database, publicKeys, generator, replica, decryptability, rows, now } = options
  const { tracing, metrics, audit } = options
  const { jwksMaxAgeSeconds, tokenLifetimeSeconds, maxStalenessSeconds, maxWebKeys, activationGuard: guard } = config
  const limits = { jwksMaxAgeSeconds, tokenLifetimeSeconds, maxStalenessSeconds, maxWebKeys }
  const store = rows.around(tracing.calls('KeyStore', createKeyStore(database, publicKeys)))
  // On the connections for administration, not on those that serve tokens.
  const reader = rows.around(tracing.calls('InstanceReader', createInstanceReader(database, publicKeys)))
  const shared = { store, generator, replica, decryptability, log }
  const rotator = new Rotator({ ...shared, limits, clock: systemClock, now, audit })
  stack.defer(() => rotator.stop())
  rotator.start()
  metrics.observeRotation(() => rotator.status)
  return {
    rotation: new KeyRotation({ ...shared, reader, limits, now }),
    webKeys: new WebKeys({ ...shared, reader, activation: { guard, jwksMaxAgeSeconds }, maxWebKeys }),
  }
}
