/**
 * Trace sampling by the variables of OpenTelemetry, which its library does not read itself.
 *
 * https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/
 */
import { ConfigError } from './config.ts'

/** Which requests are traced. */
export interface TraceSampling {
  /** The share of traces that are recorded, 0 to 1. The trace id decides, so all services decide alike. */
  readonly ratio: number
  /** Whether a request with a parent trace follows the sampling decision of the parent. */
  readonly followsSender: boolean
}

const KINDS: Readonly<Record<string, 'on' | 'off' | 'ratio'>> = {
  always_on: 'on',
  always_off: 'off',
  traceidratio: 'ratio',
}

const FOLLOWING = 'parentbased_'
const DEFAULT_SAMPLER = 'parentbased_always_on'

/**
 * Reads `OTEL_TRACES_SAMPLER` and `OTEL_TRACES_SAMPLER_ARG`.
 *
 * @throws {ConfigError} that says which values there are.
 */
export function readTraceSampling(
  environment: Readonly<Record<string, string | undefined>> = process.env,
): TraceSampling {
  const name = environment.OTEL_TRACES_SAMPLER || DEFAULT_SAMPLER
  const followsSender = name.startsWith(FOLLOWING)
  const kind = KINDS[followsSender ? name.slice(FOLLOWING.length) : name]
  switch (kind) {
    case 'on':
      return { ratio: 1, followsSender }
    case 'off':
      return { ratio: 0, followsSender }
    case 'ratio':
      return { ratio: toRatio(environment.OTEL_TRACES_SAMPLER_ARG || '1'), followsSender }
    default:
      throw new ConfigError([
        `OTEL_TRACES_SAMPLER: must be one of ${Object.keys(KINDS).join(', ')}, or one of them behind ${FOLLOWING}`,
      ])
  }
}

function toRatio(text: string): number {
  const ratio = /^\d*\.?\d+$/.test(text) ? Number(text) : Number.NaN
  if (!(ratio >= 0 && ratio <= 1)) throw new ConfigError(['OTEL_TRACES_SAMPLER_ARG: must be a number from 0 to 1'])
  return ratio
}
