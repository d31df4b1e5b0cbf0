/**
 * The comments of the proto files, as readers of JSON need them.
 */
import type { AnyDesc, DescFile, DescMessage } from '@bufbuild/protobuf'
import { nestedTypes } from '@bufbuild/protobuf/reflect'
import { getComments } from '@bufbuild/protoplugin'

type Commented = Exclude<AnyDesc, DescFile>

/** The comment of a declaration, in Markdown. */
export type CommentOf = (declaration: Commented) => string

/** In backticks: the name of a field, perhaps of a message. */
const NAME = /(?<=`(?:\w+\.)?)[a-z]+(?:_[a-z0-9]+)+(?=`)/g

/** Reads comments, in which the fields of these files get the names that they have in JSON. */
export function readComments(files: readonly DescFile[]): CommentOf {
  const messages = files
    .flatMap((file) => [...nestedTypes(file)])
    .filter((type): type is DescMessage => type.kind === 'message')
  const jsonNames = new Map(messages.flatMap(({ fields }) => fields.map(({ name, jsonName }) => [name, jsonName])))
  return (declaration) => {
    const text = getComments(declaration).leading ?? ''
    const dedented = text.replace(/^ /gm, '').trim()
    return dedented.replace(NAME, (name) => jsonNames.get(name) ?? name)
  }
}

/** A comment as the summary and the description of an operation. Tools show the one above the other. */
export function splitComment(comment: string): { readonly summary: string; readonly description: string } {
  const [start = comment, summary = '', end = ''] = /^(.*?)([.:;])(?:\s+|$)/s.exec(comment) ?? []
  const isSentence = end === '.'
  return { summary: summary.replace(/\s+/g, ' '), description: isSentence ? comment.slice(start.length) : comment }
}
