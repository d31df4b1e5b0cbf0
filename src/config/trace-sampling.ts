/**
 * Trace sampling by the variables of OpenTelemetry, which its library does not read itself.
 *
 * https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/
 */
import { ConfigError } from './config.ts'

export interface TraceSampling {
  /** The share of traces that are recorded, 0 to 1. The trace id decides, so all services decide alike. */
  readonly ratio: number
  /** Whether a request with a parent trace follows the sampling decision of the parent. */
  readonly followsSender: boolean
}

const SAMPLER = /^(parentbased_)?(always_on|always_off|traceidratio)$/

/**
 * Reads `OTEL_TRACES_SAMPLER` and `OTEL_TRACES_SAMPLER_ARG`.
 *
 * @throws {ConfigError} that says which values there are.
 */
export function readTraceSampling(environment: Readonly<Record<string, string | undefined>>): TraceSampling {
  const { OTEL_TRACES_SAMPLER: name, OTEL_TRACES_SAMPLER_ARG: ratio } = environment
  const [, parent, kind] = SAMPLER.exec(name || 'parentbased_always_on') ?? []
  if (kind === undefined)
    throw new ConfigError([
      'OTEL_TRACES_SAMPLER: must be one of always_on, always_off, traceidratio, or one of them behind parentbased_',
    ])
  const followsSender = parent !== undefined
  if (kind === 'traceidratio') return { ratio: toRatio(ratio || '1'), followsSender }
  return { ratio: kind === 'always_on' ? 1 : 0, followsSender }
}

function toRatio(text: string): number {
  const ratio = /^\d*\.?\d+$/.test(text) ? Number(text) : Number.NaN
  if (!(ratio >= 0 && ratio <= 1)) throw new ConfigError(['OTEL_TRACES_SAMPLER_ARG: must be a number from 0 to 1'])
  return ratio
}
