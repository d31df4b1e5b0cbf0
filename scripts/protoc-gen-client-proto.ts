/**
 * A plugin for buf that prints proto files for clients: without the options that only the server needs.
 *
 * What those options say becomes comments, so that clients need neither their schemas nor the server. The file options are those
 * that buf's managed mode has set. Prints what the files of this project use; `test/docs/client-proto.test.ts` compares the
 * result with the source.
 */
import {
  type DescEnum,
  type DescField,
  type DescFile,
  type DescMessage,
  type DescMethod,
  type DescOneof,
  type DescService,
  getOption,
  hasOption,
} from '@bufbuild/protobuf'
import { reflect } from '@bufbuild/protobuf/reflect'
import { FileOptionsSchema, MethodOptions_IdempotencyLevel } from '@bufbuild/protobuf/wkt'
import { getComments, getDeclarationString } from '@bufbuild/protoplugin'
import { field as fieldRules, oneof as oneofRules } from '@bufbuild/protovalidate/gen/buf/validate/validate_pb.js'
import { runBufPlugin } from './buf-plugin.ts'
import { permissionInWords, rulesInWords } from './rules-in-words.ts'

/** What declares only options, and so is nothing to a client. */
const OPTIONS_ONLY = ['buf/validate/validate.proto', 'iam/auth/v1/permission.proto']

type Declaration = DescMessage | DescEnum | DescService | DescMethod | DescField | DescOneof

runBufPlugin('protoc-gen-client-proto', (files) =>
  files.map((file) => ({ name: file.proto.name, content: printFile(file) })),
)

function printFile(file: DescFile): string {
  const imports = file.proto.dependency.filter((name) => !OPTIONS_ONLY.includes(name))
  const blocks = [
    [`// Generated from proto/${file.proto.name} by "npm run generate". Do not edit.`, 'syntax = "proto3";'],
    [`package ${file.proto.package};`],
    imports.map((name) => `import "${name}";`),
    fileOptions(file),
    ...inOrder(file, [...file.services, ...file.messages, ...file.enums]).map(printDeclaration),
  ]
  return `${blocks
    .filter((block) => block.length > 0)
    .map((block) => block.join('\n'))
    .join('\n\n')}\n`
}

function fileOptions({ proto }: DescFile): string[] {
  if (proto.options === undefined) return []
  const options = reflect(FileOptionsSchema, proto.options)
  return options.fields
    .filter((field) => options.isSet(field))
    .map((field) => `option ${field.name} = ${JSON.stringify(options.get(field))};`)
    .sort()
}

function printDeclaration(declaration: Declaration): string[] {
  return [...printComment(declaration), ...printWithoutComment(declaration)]
}

function printWithoutComment(declaration: Declaration): string[] {
  switch (declaration.kind) {
    case 'service': {
      const methods = declaration.methods.map(printDeclaration)
      const parts = declaration.deprecated ? [['option deprecated = true;'], ...methods] : methods
      return block(
        `service ${declaration.name}`,
        parts.flatMap((part, index) => (index === 0 ? part : ['', ...part])),
      )
    }
    case 'rpc':
      return printMethod(declaration)
    case 'message': {
      const { fields, oneofs, nestedMessages, nestedEnums } = declaration
      const members = [
        ...fields.filter(({ oneof }) => oneof === undefined),
        ...oneofs,
        ...nestedMessages,
        ...nestedEnums,
      ]
      return block(`message ${declaration.name}`, inOrder(declaration.file, members).flatMap(printDeclaration))
    }
    case 'oneof':
      return block(`oneof ${declaration.name}`, declaration.fields.flatMap(printDeclaration))
    case 'enum':
      return block(
        `enum ${declaration.name}`,
        declaration.values.flatMap((value) => [
          ...comment(getComments(value).leading),
          `${getDeclarationString(value)};`,
        ]),
      )
    case 'field':
      return [`${getDeclarationString(declaration).replace(`${declaration.parent.file.proto.package}.`, '')};`]
  }
}

function printMethod(method: DescMethod): string[] {
  const input = typeName(method.input, method)
  const output = typeName(method.output, method)
  const { clientStreaming, serverStreaming } = method.proto
  const options = [
    ...(method.deprecated ? ['option deprecated = true;'] : []),
    ...(method.idempotency === MethodOptions_IdempotencyLevel.IDEMPOTENCY_UNKNOWN
      ? []
      : [`option idempotency_level = ${MethodOptions_IdempotencyLevel[method.idempotency]};`]),
  ]
  const head = `rpc ${method.name}(${stream(clientStreaming)}${input}) returns (${stream(serverStreaming)}${output})`
  return options.length === 0 ? [`${head};`] : block(head, options)
}

function stream(streaming: boolean): string {
  return streaming ? 'stream ' : ''
}

function typeName(message: DescMessage, { parent }: DescMethod): string {
  return message.typeName.replace(`${parent.file.proto.package}.`, '')
}

function block(head: string, lines: readonly string[]): string[] {
  if (lines.length === 0) return [`${head} {}`]
  return [`${head} {`, ...lines.map((line) => (line === '' ? '' : `  ${line}`)), '}']
}

/** Declarations in the order of the source. */
function inOrder<T extends Declaration>({ proto }: DescFile, declarations: readonly T[]): T[] {
  const lines = new Map(proto.sourceCodeInfo?.location.map(({ path, span }) => [path.join(), span[0] ?? 0]))
  const lineOf = (declaration: T) => lines.get(getComments(declaration).sourcePath.join()) ?? 0
  return declarations.toSorted((a, b) => lineOf(a) - lineOf(b))
}

/** The comment of the source, and in words what its options say unless the comment does already. */
function printComment(declaration: Declaration): string[] {
  const text = getComments(declaration).leading ?? ''
  const rules = rulesOf(declaration).filter((rule) => !text.toLowerCase().includes(rule.toLowerCase()))
  return [
    ...comment(text),
    ...(rules.length === 0 ? [] : comment(` Rules: ${rules.join('; ')}.\n`)),
    ...(declaration.kind === 'rpc' ? permissionOf(declaration, text) : []),
  ]
}

function permissionOf(method: DescMethod, text: string): string[] {
  const line = `// ${permissionInWords(method)}`
  return text.includes('\n\n') ? ['//', line] : [line]
}

function comment(text = ''): string[] {
  return text === ''
    ? []
    : text
        .replace(/\n$/, '')
        .split('\n')
        .map((line) => `//${line}`)
}

function rulesOf(declaration: Declaration): string[] {
  if (declaration.kind === 'oneof' && hasOption(declaration, oneofRules)) return ['one of them must be set']
  if (declaration.kind !== 'field' || !hasOption(declaration, fieldRules)) return []
  return rulesInWords(getOption(declaration, fieldRules), declaration.enum)
}
