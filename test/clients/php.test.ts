import { globSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from '@jest/globals'
import { testGeneratedClient } from './generated-client.ts'

const SERVICES = globSync('iam/**/*_service.proto', { cwd: join(import.meta.dirname, '../../gen/proto') })

await testGeneratedClient(
  {
    language: 'PHP',
    folder: 'php',
    needs: {
      'PHP with curl': 'php -r "exit(extension_loaded(\'curl\') ? 0 : 1);"',
      'library google/protobuf for PHP': 'php -r "require \'Google/Protobuf/Internal/Message.php\';"',
      protoc: 'protoc --version',
      grpc_php_plugin: 'command -v grpc_php_plugin',
    },
    run: 'php -d include_path=src:.:/usr/share/php client.php',
  },
  (shell) => {
    it('has stubs for those who have the extension grpc', async () => {
      const checked = await shell("find src -name '*Client.php' -exec php -l {} \\;")
      expect(checked.match(/^No syntax errors/gm)).toHaveLength(SERVICES.length)
    })
  },
)
