import { testGeneratedClient } from './generated-client.ts'

await testGeneratedClient({
  language: 'Go',
  folder: 'go',
  needs: { Go: 'go version', protoc: 'protoc --version' },
  install: 'GOBIN=$CACHE/bin go install tool && go mod download',
  build: 'go build -mod=mod -o client .',
  run: './client',
})
