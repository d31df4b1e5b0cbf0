import { testGeneratedClient } from './generated-client.ts'

await testGeneratedClient({
  language: 'C++',
  folder: 'cpp',
  needs: {
    'g++': 'g++ --version',
    'the library grpc++ for development': 'pkg-config --exists grpc++ protobuf',
    protoc: 'protoc --version',
    grpc_cpp_plugin: 'command -v grpc_cpp_plugin',
  },
  build:
    'g++ -std=c++17 -I. client.cc {google/rpc,iam/webkey/v2beta}/*.cc -o client $(pkg-config --cflags --libs grpc++ protobuf)',
  run: './client',
})
