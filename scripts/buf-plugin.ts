/**
 * What the plugins for buf of this project share: how they are called, and how they read comments.
 */
import { create, createFileRegistry, type DescFile } from '@bufbuild/protobuf'
import {
  type CodeGeneratorRequest,
  CodeGeneratorResponse_Feature,
  CodeGeneratorResponseSchema,
  FileDescriptorSetSchema,
} from '@bufbuild/protobuf/wkt'
import { runNodeJs } from '@bufbuild/protoplugin'

/** A file that a plugin makes. */
export interface GeneratedFile {
  readonly name: string
  readonly content: string
}

/** Answers buf. @param generate Makes files of the proto files that buf asks for. */
export function runBufPlugin(name: string, generate: (files: readonly DescFile[]) => readonly GeneratedFile[]): void {
  const run = (request: CodeGeneratorRequest) => {
    const registry = createFileRegistry(create(FileDescriptorSetSchema, { file: request.protoFile }))
    const files = request.fileToGenerate.map((path) => {
      const file = registry.getFile(path)
      if (file === undefined) throw new Error(`buf has not sent ${path}, which it asks for`)
      return file
    })
    return create(CodeGeneratorResponseSchema, {
      file: [...generate(files)],
      supportedFeatures: BigInt(CodeGeneratorResponse_Feature.PROTO3_OPTIONAL),
    })
  }
  runNodeJs({ name, version: 'v1', run })
}
