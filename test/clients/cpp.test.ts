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
  // What includes the headers of gRPC is one translation unit: reading those takes longer than all else.
  build: `
    shopt -s extglob
    printf '#include "%s"\\n' client.cc {google/rpc,iam/webkey/v2beta}/*.grpc.pb.cc > all.cc
    g++ -std=c++17 -I. all.cc {google/rpc,iam/webkey/v2beta}/!(*.grpc).pb.cc -o client \\
      $(pkg-config --cflags --libs grpc++ protobuf)
  `,
  run: './client',
})
