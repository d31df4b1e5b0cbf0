/**
 * What is wrong with the fields of a request: refuses fields for what the rules of the proto cannot say, and tells clients.
 */
import { create } from '@bufbuild/protobuf'
import { type Violation, ViolationsSchema } from '@bufbuild/protovalidate/gen/buf/validate/validate_pb.js'
import { Code, ConnectError } from '@connectrpc/connect'
import { BadRequestSchema } from '../../gen/google/rpc/error_details_pb.js'

/**
 * How many violations an error has at most. One request can have tens of thousands, and the details of a gRPC error are in a
 * trailer, of which many clients take 8 KiB.
 */
const MAX_VIOLATIONS = 10

/** An `invalid_argument` error about one field. @param message What must be, for example `must not be empty`. */
export function invalidField(field: string, message: string): ConnectError {
  const violation = { field: { elements: [{ fieldName: field }] }, ruleId: field, message }
  return new ConnectError(`${field}: ${message}`, Code.InvalidArgument, undefined, [
    { desc: ViolationsSchema, value: create(ViolationsSchema, { violations: [violation] }) },
  ])
}

/**
 * Adds the violations of an error as `google.rpc.BadRequest`, which the libraries of every language can read, and leaves out all
 * but the first.
 */
export function tellViolations(error: ConnectError): void {
  const all = error.findDetails(ViolationsSchema).flatMap(({ violations }) => violations)
  if (all.length === 0) return
  const violations = all.slice(0, MAX_VIOLATIONS)
  error.details = [
    { desc: ViolationsSchema, value: create(ViolationsSchema, { violations }) },
    { desc: BadRequestSchema, value: create(BadRequestSchema, { fieldViolations: violations.map(toFieldViolation) }) },
  ]
}

function toFieldViolation({ field, rule, ruleId, message }: Violation) {
  return {
    field: (field?.elements ?? [])
      .map(({ fieldName, subscript }) => (subscript.case === 'index' ? `${fieldName}[${subscript.value}]` : fieldName))
      .join('.'),
    description: message,
    reason: rule === undefined ? '' : ruleId.replaceAll('.', '_').toUpperCase(),
  }
}
