import { describe, expect, it } from '@jest/globals'
import { createAddressReader } from '../../../../src/http/requests/client-address.ts'
import { RequestContexts } from '../../../../src/http/requests/request-context.ts'
import { createPublicRpc } from '../../../../src/rpc/public/public-routes.ts'
import { createRecordingLog } from '../../../support/log.ts'

describe('what anybody may call', () => {
  it('is the health and the schema, and nothing else', () => {
    const serving = () => ({ tokens: true, administration: true })
    const { routes } = createPublicRpc({
      serving,
      servesDeprecated: true,
      servesZitadel: false,
      servesConsole: true,
      requestContext: new RequestContexts(createAddressReader([])),
      log: createRecordingLog(),
    })
    expect([...routes.keys()].sort()).toEqual([
      '/grpc.health.v1.Health/Check',
      '/grpc.health.v1.Health/List',
      '/grpc.health.v1.Health/Watch',
      '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo',
      '/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo',
    ])
  })
})
