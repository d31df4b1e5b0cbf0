import { expect, it } from '@jest/globals'
import { testGeneratedClient } from './generated-client.ts'

await testGeneratedClient({ language: 'C#', needs: { protoc: 'protoc --version' } }, (shell) => {
  it('gets one file for each proto file, in the folder of its namespace', async () => {
    const files = await shell('cd src && find * -type f | sort')
    expect(files.split('\n')).toEqual(
      expect.arrayContaining([
        'Google/Rpc/ErrorDetails.cs',
        'Keyturn/Iam/Webkey/V2/WebKeyService.cs',
        'Keyturn/Iam/Webkey/V2beta/WebKeyService.cs',
      ]),
    )
    expect(files.trim().split('\n')).toHaveLength(Number(await shell("find proto/ -name '*.proto' | wc -l")))
  })
})
