/**
 * The methods of the services as operations: calls by POST in the JSON form of the Connect protocol.
 */
import { type DescMethod, type DescService, getOption } from '@bufbuild/protobuf'
import { field as fieldRules } from '@bufbuild/protovalidate/gen/buf/validate/validate_pb.js'
import { permissionInWords } from '../rules-in-words.ts'
import { CALL_REFUSALS, type CallStatus } from './call-refusals.ts'
import { type CommentOf, splitComment } from './comments.ts'
import { type HeaderName, headersOf } from './headers.ts'
import { type Json, refTo } from './json.ts'
import type { MessageSchemas } from './message-schemas.ts'
import { isRequired } from './rule-keywords.ts'

/** At which methods a status can occur, if not at all of them. */
const CONDITIONS: Readonly<Partial<Record<CallStatus, (method: DescMethod, comment: string) => boolean>>> = {
  404: namesWhatMustExist,
  409: (_method, comment) => comment.includes('`already_exists`') || comment.includes('`aborted`'),
}

/** The name of the tag of a service: that of the class which generators make for it. For the beta it is the specification's (Spec §1). */
function tagOf({ name, file }: DescService): string {
  return /\.v\d+beta\d*$/.test(file.proto.package) ? `Beta${name}` : name
}

/** The tag of a service. */
export function serviceTag(service: DescService, commentOf: CommentOf): Json {
  return { name: tagOf(service), description: commentOf(service) }
}

/** The path and the operation of a method. */
export function callOf(
  method: DescMethod,
  schemas: MessageSchemas,
  commentOf: CommentOf,
): readonly [string, { readonly post: Json }] {
  const { input, output, parent: service } = method
  const comment = commentOf(method)
  const { summary, description } = splitComment(comment)
  const post = {
    tags: [tagOf(service)],
    operationId: `${tagOf(service)}_${method.name}`,
    summary,
    description: [description, permissionInWords(method)].filter((text) => text !== '').join('\n\n'),
    ...(service.deprecated || method.deprecated ? { deprecated: true } : {}),
    requestBody: { required: true, content: { 'application/json': { schema: schemas.refTo(input, 'request') } } },
    responses: {
      200: {
        description: commentOf(output),
        ...headersOf(successHeaders(method, comment)),
        content: { 'application/json': { schema: schemas.refTo(output, 'response') } },
      },
      ...refusalsOf(method, comment),
    },
  }
  return [`/${service.typeName}/${method.name}`, { post }]
}

function successHeaders({ parent: service }: DescMethod, comment: string): readonly HeaderName[] {
  return [
    ...(comment.includes('`keyturn-warning`') ? (['Keyturn-Warning'] as const) : []),
    ...(service.deprecated ? (['Deprecation', 'Sunset', 'Link'] as const) : []),
  ]
}

function refusalsOf(method: DescMethod, comment: string): Json {
  const statuses = (Object.keys(CALL_REFUSALS) as unknown as CallStatus[]).filter(
    (status) => CONDITIONS[status]?.(method, comment) ?? true,
  )
  return Object.fromEntries(statuses.map((status) => [status, refTo('responses', CALL_REFUSALS[status].name)]))
}

/** Whether a request must name something by its id, which may not exist. */
function namesWhatMustExist({ input }: DescMethod): boolean {
  return input.fields.some((field) => field.name.endsWith('_id') && isRequired(getOption(field, fieldRules), field))
}
