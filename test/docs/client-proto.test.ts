/**
 * The proto files for clients in `gen/proto/`: that they say what the server's say, without what only the server needs.
 */
import { execFileSync } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createFileRegistry, type DescFile, fromBinary, toJson } from '@bufbuild/protobuf'
import { FileDescriptorProtoSchema, FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt'
import { beforeAll, describe, expect, it } from '@jest/globals'

const ROOT = join(import.meta.dirname, '../..')

const SERVER_ONLY = ['buf/validate/validate.proto', 'iam/auth/v1/permission.proto']

let source: Map<string, DescFile>
let forClients: Map<string, DescFile>
beforeAll(() => {
  source = filesOf('proto')
  forClients = filesOf('gen/proto')
})

function filesOf(folder: string): Map<string, DescFile> {
  const image = execFileSync('buf', ['build', folder, '--as-file-descriptor-set', '--output', '-'], { cwd: ROOT })
  return new Map(
    [...createFileRegistry(fromBinary(FileDescriptorSetSchema, image)).files].map((file) => [file.proto.name, file]),
  )
}

/** What a file declares, without places, the options of the file, and options of others, which are unknown fields here. */
function declarationsOf(file: DescFile | undefined): unknown {
  const {
    sourceCodeInfo: _,
    options: __,
    dependency,
    ...rest
  } = toJson(FileDescriptorProtoSchema, file!.proto) as {
    [name: string]: unknown
    dependency?: string[]
  }
  return JSON.parse(
    JSON.stringify(
      { ...rest, dependency: dependency?.filter((name) => !SERVER_ONLY.includes(name)) },
      // Empty once the options of others are gone.
      (key, value) => (key === 'options' && Object.keys(value).length === 0 ? undefined : value),
    ),
  )
}

describe('the proto files for clients', () => {
  it('are those of the services, and the details of errors', () => {
    const services = globSync('iam/**/*.proto', { cwd: join(ROOT, 'proto') })
    const wanted = [...services, 'google/rpc/status.proto', 'google/rpc/error_details.proto']
    expect(globSync('**/*.proto', { cwd: join(ROOT, 'gen/proto') }).sort()).toEqual(
      wanted.filter((name) => !SERVER_ONLY.includes(name)).sort(),
    )
  })

  it('declare what the files of the server do, with the same names, numbers and types', () => {
    for (const [name, file] of forClients) expect(declarationsOf(file)).toEqual(declarationsOf(source.get(name)))
  })

  it('say in words which rules and permissions the options of the server have', () => {
    const text = readFileSync(join(ROOT, 'gen/proto/iam/user/v2/service_user_service.proto'), 'utf8')
    expect(text).toContain('  // The user.\n  // Rules: a UUID.\n  string user_id = 1;\n')
    expect(text).toContain('  // Needs the permission `iam.user.delete`.\n  rpc DeleteServiceUser(')
    expect(text).toContain(
      '  // Rules: at most 10; none twice; each a value of the enum; each not `INSTANCE_ROLE_UNSPECIFIED`.\n',
    )
    expect(text).not.toMatch(/buf\/validate|\(buf\.|required_permission/)
  })
})
