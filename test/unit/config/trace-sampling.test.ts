import { describe, expect, it } from '@jest/globals'
import { ConfigError } from '../../../src/config/config.ts'
import { readTraceSampling } from '../../../src/config/trace-sampling.ts'

describe('the sampling of traces', () => {
  it.each([
    [{}, { ratio: 1, followsSender: true }],
    [{ OTEL_TRACES_SAMPLER: '' }, { ratio: 1, followsSender: true }],
    [{ OTEL_TRACES_SAMPLER: 'always_on' }, { ratio: 1, followsSender: false }],
    [{ OTEL_TRACES_SAMPLER: 'always_off' }, { ratio: 0, followsSender: false }],
    [{ OTEL_TRACES_SAMPLER: 'parentbased_always_off' }, { ratio: 0, followsSender: true }],
    [
      { OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '0.25' },
      { ratio: 0.25, followsSender: false },
    ],
    [{ OTEL_TRACES_SAMPLER: 'parentbased_traceidratio' }, { ratio: 1, followsSender: true }],
    [
      { OTEL_TRACES_SAMPLER: 'always_on', OTEL_TRACES_SAMPLER_ARG: 'unused' },
      { ratio: 1, followsSender: false },
    ],
  ])('of %j is %j', (environment, sampling) => {
    expect(readTraceSampling(environment)).toEqual(sampling)
  })

  it.each([
    [{ OTEL_TRACES_SAMPLER: 'jaeger_remote' }, /^.*\n {2}OTEL_TRACES_SAMPLER: .*parentbased_/],
    [{ OTEL_TRACES_SAMPLER: 'parentbased_constructor' }, /OTEL_TRACES_SAMPLER: /],
    [{ OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '1.5' }, /OTEL_TRACES_SAMPLER_ARG: /],
    [{ OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '-1' }, /OTEL_TRACES_SAMPLER_ARG: /],
    [{ OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: 'half' }, /OTEL_TRACES_SAMPLER_ARG: /],
  ])('of %j is a mistake', (environment, message) => {
    expect(() => readTraceSampling(environment)).toThrow(ConfigError)
    expect(() => readTraceSampling(environment)).toThrow(message)
  })
})
