import { create, type DescMessage, type Message, toBinary } from '@bufbuild/protobuf'
import { createValidator, violationsToProto } from '@bufbuild/protovalidate'
import { ViolationsSchema } from '@bufbuild/protovalidate/gen/buf/validate/validate_pb.js'
import { Code, ConnectError } from '@connectrpc/connect'
import { describe, expect, it } from '@jest/globals'
import { BadRequestSchema } from '../../../../gen/google/rpc/error_details_pb.js'
import type { InstanceRole } from '../../../../gen/iam/user/v2/service_user_pb.js'
import { SetInstanceRolesRequestSchema } from '../../../../gen/iam/user/v2/service_user_service_pb.js'
import { ListWebKeysRequestSchema } from '../../../../gen/iam/webkey/v2/web_key_service_pb.js'
import { invalidArgument } from '../../../../src/rpc/messages/errors.ts'
import { invalidField } from '../../../../src/rpc/messages/violations.ts'

const UNNAMED = 9

/** The error that the validation makes. */
function invalid(schema: DescMessage, message: Message): ConnectError {
  const result = createValidator().validate(schema, message)
  const [value, desc] = violationsToProto(result.violations ?? [])
  return new ConnectError('invalid', Code.InvalidArgument, undefined, [{ desc, value }])
}

describe('the violations of a request', () => {
  it('are told as google.rpc.BadRequest, with path, rule and words', () => {
    const request = create(SetInstanceRolesRequestSchema, { userId: 'me', instanceRoles: [1, UNNAMED as InstanceRole] })
    const error = invalidArgument(invalid(SetInstanceRolesRequestSchema, request))
    expect(error.findDetails(BadRequestSchema)).toMatchObject([
      {
        fieldViolations: [
          { field: 'user_id', reason: 'STRING_UUID', description: 'must be a valid UUID' },
          { field: 'instance_roles[1]', reason: 'ENUM_DEFINED_ONLY' },
        ],
      },
    ])
    expect(error.findDetails(ViolationsSchema)[0]?.violations).toHaveLength(2)
  })

  it('are told without a rule where the schema has none', () => {
    const error = invalidArgument(invalidField('policy.config', 'must be set'))
    expect(error.findDetails(BadRequestSchema)).toMatchObject([
      { fieldViolations: [{ field: 'policy.config', reason: '', description: 'must be set' }] },
    ])
  })

  it('fit into the 8 KiB that clients take as trailers, however many there are', () => {
    const request = create(ListWebKeysRequestSchema, { states: new Array(30_000).fill(UNNAMED) })
    const error = invalidArgument(invalid(ListWebKeysRequestSchema, request))
    const bytes = [ViolationsSchema, BadRequestSchema].map((schema) => {
      const [detail] = error.findDetails<DescMessage>(schema)
      return toBinary<DescMessage>(schema, detail!).length
    })
    expect(bytes[0]! + bytes[1]!).toBeLessThan(4096)
    const [badRequest] = error.findDetails(BadRequestSchema)
    expect(badRequest?.fieldViolations).toHaveLength(error.findDetails(ViolationsSchema)[0]!.violations.length)
    expect(badRequest?.fieldViolations.length).toBeGreaterThan(1)
  })

  it('are left out of errors that have none', () => {
    const error = invalidArgument(new ConnectError('not JSON', Code.InvalidArgument))
    expect(error.findDetails(BadRequestSchema)).toEqual([])
  })
})
