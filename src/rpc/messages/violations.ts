/**
 * What is wrong with the fields of a request: refuses fields for what the rules of the proto cannot say, and tells clients.
 */
import { create, toBinary } from '@bufbuild/protobuf'
import {
  type Violation,
  ViolationSchema,
  type Violations,
  ViolationsSchema,
} from '@bufbuild/protovalidate/gen/buf/validate/validate_pb.js'
import { Code, ConnectError } from '@connectrpc/connect'
import { BadRequestSchema } from '../../../gen/google/rpc/error_details_pb.js'

/** How many violations an error has at most. One request can have tens of thousands. */
const MAX_VIOLATIONS = 10

/**
 * What they may take, in bytes, and their other form as much again: the details of a gRPC error are in a trailer, of which many
 * clients take 8 KiB.
 */
const MAX_BYTES = 1_024

/** An `invalid_argument` error about one field. @param message What must be, for example `must not be empty`. */
export function invalidField(field: string, message: string): ConnectError {
  const violation = { field: { elements: [{ fieldName: field }] }, ruleId: field, message }
  return new ConnectError(`${field}: ${message}`, Code.InvalidArgument, undefined, [
    { desc: ViolationsSchema, value: create(ViolationsSchema, { violations: [violation] }) },
  ])
}

/**
 * The details of an error with these violations: as many of the first as there is room for, and the same as `google.rpc.BadRequest`,
 * which the libraries of every language can read.
 */
export function violationDetails(all: Violations): ConnectError['details'] {
  const violations = firstOf(all)
  return [
    { desc: ViolationsSchema, value: create(ViolationsSchema, { violations }) },
    { desc: BadRequestSchema, value: create(BadRequestSchema, { fieldViolations: violations.map(toFieldViolation) }) },
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
