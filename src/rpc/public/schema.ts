/**
 * The proto files of services, indexed by name, symbol and extension.
 */
import {
  type DescEnum,
  type DescExtension,
  type DescFile,
  type DescMessage,
  type DescService,
  toBinary,
} from '@bufbuild/protobuf'
import { nestedTypes } from '@bufbuild/protobuf/reflect'
import { FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt'

export class Schema {
  readonly #files = new Map<string, DescFile>()
  readonly #symbols = new Map<string, DescFile>()
  readonly #extensions = new Map<string, Map<number, DescFile>>()
  readonly #encoded = new Map<DescFile, Uint8Array>()

  /** Of these files and all that they import. */
  constructor(files: readonly DescFile[]) {
    for (const file of files.flatMap((root) => withImports(root))) this.#add(file)
  }

  /** By its name, for example `iam/webkey/v2beta/web_key.proto`. */
  file(name: string): DescFile | undefined {
    return this.#files.get(name)
  }

  /** The file that declares this full name. */
  fileOf(symbol: string): DescFile | undefined {
    return this.#symbols.get(symbol)
  }

  fileOfExtension(message: string, number: number): DescFile | undefined {
    return this.#extensions.get(message)?.get(number)
  }

  /** The numbers of all extensions of a message, ascending. Undefined if there is no such message. */
  extensionsOf(message: string): number[] | undefined {
    const extensions = this.#extensions.get(message)
    return extensions === undefined ? undefined : [...extensions.keys()].sort((a, b) => a - b)
  }

  /** A file as a `google.protobuf.FileDescriptorProto`. */
  encode(file: DescFile): Uint8Array {
    const known = this.#encoded.get(file)
    if (known !== undefined) return known
    const bytes = toBinary(FileDescriptorProtoSchema, file.proto)
    this.#encoded.set(file, bytes)
    return bytes
  }

  #add(file: DescFile): void {
    this.#files.set(file.proto.name, file)
    for (const type of nestedTypes(file)) {
      for (const symbol of symbolsOf(type)) this.#symbols.set(symbol, file)
      if (type.kind === 'message') this.#extensionsBy(type.typeName)
      if (type.kind === 'extension') this.#extensionsBy(type.extendee.typeName).set(type.number, file)
    }
  }

  #extensionsBy(message: string): Map<number, DescFile> {
    const known = this.#extensions.get(message) ?? new Map<number, DescFile>()
    this.#extensions.set(message, known)
    return known
  }
}

/** A file and what it imports, directly or not, each once, itself first. */
export function withImports(file: DescFile): readonly DescFile[] {
  const found = new Set([file])
  // Iterating a set includes the entries that are added meanwhile.
  for (const { dependencies } of found) for (const dependency of dependencies) found.add(dependency)
  return [...found]
}

function symbolsOf(type: DescMessage | DescEnum | DescExtension | DescService): string[] {
  const within = (names: readonly { readonly name: string }[]) => names.map(({ name }) => `${type.typeName}.${name}`)
  switch (type.kind) {
    case 'message':
      return [type.typeName, ...within(type.fields), ...within(type.oneofs)]
    case 'service':
      return [type.typeName, ...within(type.methods)]
    case 'enum': {
      // The values of an enum are named in the scope around it.
      const scope = type.typeName.slice(0, -type.name.length)
      return [type.typeName, ...type.values.map(({ name }) => scope + name)]
    }
    case 'extension':
      return [type.typeName]
  }
}
