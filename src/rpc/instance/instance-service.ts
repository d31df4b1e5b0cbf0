/**
 * `iam.instance.v2.InstanceService`.
 */
import { create } from '@bufbuild/protobuf'
import { durationFromMs, timestampFromDate } from '@bufbuild/protobuf/wkt'
import type { ServiceImpl } from '@connectrpc/connect'
import {
  InstanceSchema,
  type InstanceService,
  type Instance as WireInstance,
} from '../../../gen/iam/instance/v2/instance_service_pb.js'
import type { InstanceFacts, InstanceOverview } from '../../app/instance/instance-overview.ts'
import { fromDate } from '../messages/fields.ts'

/** Answers the calls of the service. */
export function instanceService(instance: Pick<InstanceOverview, 'get'>): ServiceImpl<typeof InstanceService> {
  return {
    async getInstance() {
      return { instance: fromInstance(await instance.get()) }
    },
  }
}

function fromInstance(facts: InstanceFacts): WireInstance {
  const { readiness, stalenessSeconds, lagSeconds, clockOffsetSeconds } = facts
  return create(InstanceSchema, {
    version: BigInt(facts.version),
    ...fromDate('changeDate', facts.changedAt),
    currentDate: timestampFromDate(facts.now),
    issuer: facts.issuer,
    replica: {
      keyturnVersion: facts.keyturnVersion,
      startDate: timestampFromDate(facts.startedAt),
      staleness: toDuration(stalenessSeconds),
      ...(lagSeconds === null ? {} : { lag: toDuration(lagSeconds) }),
      ready: readiness.ready,
      reason: readiness.ready ? '' : readiness.reason,
      warnings: readiness.ready ? [...readiness.warnings] : [],
    },
    database: { postgresqlVersion: facts.serverVersion, clockOffset: toDuration(clockOffsetSeconds) },
    masterKeys: [...facts.masterKeys],
    settings: Object.entries(facts.settings).map(([name, value]) => ({ name, value: String(value ?? '') })),
  })
}

function toDuration(seconds: number) {
  return durationFromMs(Math.round(seconds * 1000))
}
