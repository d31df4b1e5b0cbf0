/**
 * Stands for the description of the validation rules, which the generated code refers to and the page does not use: a file of the same
 * name without content.
 */
import { create, toBinary } from '@bufbuild/protobuf'
import { fileDesc } from '@bufbuild/protobuf/codegenv2'
import { base64Encode } from '@bufbuild/protobuf/wire'
import { FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt'

const empty = create(FileDescriptorProtoSchema, { name: 'buf/validate/validate.proto' })

export const file_buf_validate_validate = fileDesc(base64Encode(toBinary(FileDescriptorProtoSchema, empty)), [])
