import { testGeneratedClient } from './generated-client.ts'

await testGeneratedClient({
  language: 'Ruby',
  folder: 'ruby',
  needs: {
    'Ruby with the gems grpc and googleapis-common-protos-types':
      'ruby -e "require %(grpc); require %(google/rpc/error_details_pb)"',
    'grpc_tools_ruby_protoc, of the gem grpc-tools': 'command -v grpc_tools_ruby_protoc',
  },
  run: 'ruby -I lib client.rb',
})
