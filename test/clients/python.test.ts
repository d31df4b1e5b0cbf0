import { expect, it } from '@jest/globals'
import { testGeneratedClient } from './generated-client.ts'

await testGeneratedClient(
  {
    language: 'Python',
    folder: 'python',
    needs: { 'Python 3 with venv': 'python3 -c "import ensurepip, venv"' },
    install:
      'test -e "$CACHE/bin/python" || python3 -m venv "$CACHE"; pip install --quiet --requirement requirements.txt',
    run: 'python client.py',
  },
  (shell) => {
    it('can have google.rpc from the proto files and from its package at the same time', async () => {
      await shell(
        'mkdir generated && python -m grpc_tools.protoc -I proto --python_out=generated proto/google/rpc/*.proto',
      )
      expect(await shell('python google_rpc.py generated/google/rpc/*.py')).toBe(
        'google/rpc/error_details.proto\ngoogle/rpc/status.proto\n',
      )
    })
  },
)
