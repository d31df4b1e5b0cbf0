/** `iam.instance.v2.InstanceService`. */
import type { MessageInitShape } from '@bufbuild/protobuf'
import { durationFromMs, timestampFromDate } from '@bufbuild/protobuf/wkt'
import type { ServiceImpl } from '@connectrpc/connect'
import {
  type InstanceSchema,
  type InstanceService,
  ReplicaPresence,
  type ReplicaSchema,
} from '../../../gen/iam/instance/v2/instance_service_pb.js'
import type { InstanceFacts, InstanceOverview } from '../../app/instance/instance-overview.ts'
import { changesLacking, type Heartbeat, type Presence, presenceOf, type SeenReplica } from '../../domain/replicas.ts'
import { fromDate } from '../messages/fields.ts'

export function instanceService(instance: Pick<InstanceOverview, 'get'>): ServiceImpl<typeof InstanceService> {
  return {
    async getInstance() {
      return { instance: fromInstance(await instance.get()) }
    },
  }
}

function fromInstance(facts: InstanceFacts): MessageInitShape<typeof InstanceSchema> {
  const { replicas, newestVersion, clockOffsetSeconds } = facts
  return {
    version: BigInt(facts.version),
    ...fromDate('changeDate', facts.changedAt),
    currentDate: timestampFromDate(facts.now),
    issuer: facts.issuer,
    replica: fromAnsweringReplica(facts),
    replicas: replicas.map((replica) => fromSeenReplica(replica, newestVersion)),
    database: { postgresqlVersion: facts.serverVersion, clockOffset: toDuration(clockOffsetSeconds) },
    masterKeys: [...facts.masterKeys],
    settings: Object.entries(facts.settings).map(([name, value]) => ({ name, value: String(value ?? '') })),
  }
}

function fromAnsweringReplica(facts: InstanceFacts): MessageInitShape<typeof ReplicaSchema> {
  const { identity, readiness, version, newestVersion, lagSeconds, stalenessSeconds } = facts
  const reason = readiness.ready ? '' : readiness.reason
  return {
    ...fieldsOf({ ...identity, version, lagSeconds, ready: readiness.ready, reason }),
    staleness: toDuration(stalenessSeconds),
    warnings: readiness.ready ? [...readiness.warnings] : [],
    versionsBehind: BigInt(Math.max(0, newestVersion - version)),
    presence: ReplicaPresence.SEEN,
  }
}

function fromSeenReplica(replica: SeenReplica, newestVersion: number): MessageInitShape<typeof ReplicaSchema> {
  return {
    ...fieldsOf(replica),
    versionsBehind: BigInt(changesLacking(replica, newestVersion)),
    lastSeenDate: timestampFromDate(replica.lastSeenAt),
    presence: ReplicaPresence[presenceOf(replica).toUpperCase() as Uppercase<Presence>],
  }
}

function fieldsOf({ replicaId, hostName, keyturnVersion, startedAt, version, lagSeconds, ready, reason }: Heartbeat) {
  return {
    replicaId,
    hostName,
    keyturnVersion,
    startDate: timestampFromDate(startedAt),
    version: BigInt(version),
    ...(lagSeconds === null ? {} : { lag: toDuration(lagSeconds) }),
    ready,
    reason,
  }
}

function toDuration(seconds: number) {
  return durationFromMs(Math.round(seconds * 1000))
}
