/**
 * Languages in which the code is generated and no more: what runs in the others is the same library.
 */
import { expect, it } from '@jest/globals'
import type { Shell } from '../support/foreign-tools.ts'
import { type GeneratedClient, testGeneratedClient } from './generated-client.ts'

const LANGUAGES: readonly (GeneratedClient & { readonly ending: string })[] = [
  {
    language: 'C++',
    needs: { protoc: 'protoc --version', grpc_cpp_plugin: 'command -v grpc_cpp_plugin' },
    ending: '.pb.h',
  },
  {
    language: 'Ruby',
    needs: { 'grpc_tools_ruby_protoc, of the gem grpc-tools': 'command -v grpc_tools_ruby_protoc' },
    ending: '_pb.rb',
  },
  { language: 'C#', needs: { protoc: 'protoc --version' }, ending: '.cs' },
]

for (const { ending, ...client } of LANGUAGES) {
  await testGeneratedClient(client, (shell: Shell) => {
    it('has a file for each proto file of the services', async () => {
      const count = async (pattern: string, folder = '.') =>
        Number(await shell(`find ${folder} -name '${pattern}' | grep -c /[Ii]am/`))
      expect(await count(`*${ending}`)).toBeGreaterThanOrEqual(await count('*.proto', 'proto/'))
    })
  })
}
