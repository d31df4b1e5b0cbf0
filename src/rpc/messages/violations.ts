/** Violations of the rules for the fields of a request, as error details. */
import { toBinary } from '@bufbuild/protobuf'
import {
  type Violation,
  ViolationSchema,
  type Violations,
  ViolationsSchema,
} from '@bufbuild/protovalidate/gen/buf/validate/validate_pb.js'
import { Code, ConnectError } from '@connectrpc/connect'
import { BadRequestSchema } from '../../../gen/google/rpc/error_details_pb.js'
import type { RefusedField } from '../../domain/errors.ts'

/** The most violations in an error. One request can have tens of thousands. */
const MAX_VIOLATIONS = 10

/**
 * The longest encoding of the violations, in bytes; `google.rpc.BadRequest` adds about as much. The details of a gRPC error are in a
 * trailer, and many clients accept 8 KiB.
 */
const MAX_BYTES = 1_024

/** An `invalid_argument` error about one field. @param message The rule, for example `must not be empty`. */
export function invalidField(field: string, message: string): ConnectError {
  const violation = { field: { elements: [{ fieldName: field }] }, ruleId: field, message }
  return new ConnectError(`${field}: ${message}`, Code.InvalidArgument, undefined, [
    { desc: ViolationsSchema, value: { violations: [violation] } },
  ])
}

/** Details about fields that a rule refuses. `violationDetails` of the boundary shortens them. */
export function fieldDetails(fields: readonly RefusedField[]) {
  const violations = fields.map(({ path, message }) => ({ field: { elements: [{ fieldName: path }] }, message }))
  return [{ desc: ViolationsSchema, value: { violations } }]
}

/**
 * The details of an error with the first of these violations, up to the limits, and the same as `google.rpc.BadRequest`, which the
 * libraries of every language can read.
 */
export function violationDetails(all: Violations): ConnectError['details'] {
  const violations = firstOf(all)
  return [
    { desc: ViolationsSchema, value: { violations } },
    { desc: BadRequestSchema, value: { fieldViolations: violations.map(toFieldViolation) } },
  ]
}

function firstOf({ violations }: Violations): Violation[] {
  let bytes = 0
  const end = violations.findIndex((violation, index) => {
    bytes += toBinary(ViolationSchema, violation).byteLength
    return bytes > MAX_BYTES || index === MAX_VIOLATIONS
  })
  return end < 0 ? violations : violations.slice(0, end)
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
