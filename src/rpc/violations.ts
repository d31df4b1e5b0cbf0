/**
 * Refuses fields for what the rules of the proto cannot say, in the same words as those.
 */
import { create } from '@bufbuild/protobuf'
import { ViolationsSchema } from '@bufbuild/protovalidate/gen/buf/validate/validate_pb.js'
import { Code, ConnectError } from '@connectrpc/connect'

/** An `invalid_argument` error about one field. @param message What must be, for example `must not be empty`. */
export function invalidField(field: string, message: string): ConnectError {
  const violation = { field: { elements: [{ fieldName: field }] }, ruleId: field, message }
  return new ConnectError(`${field}: ${message}`, Code.InvalidArgument, undefined, [
    { desc: ViolationsSchema, value: create(ViolationsSchema, { violations: [violation] }) },
  ])
}
