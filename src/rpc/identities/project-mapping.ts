/**
 * From the domain to the messages of `iam.project.v2`.
 */
import { create } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import { ProjectSchema, type Project as WireProject } from '../../../gen/iam/project/v2/project_pb.js'
import type { Project } from '../../domain/identities/project.ts'

/** A project on the wire. Its roles and scopes have lists of their own. */
export function fromProject({ projectId, name, createdAt }: Project): WireProject {
  return create(ProjectSchema, { projectId, name, creationDate: timestampFromDate(createdAt) })
}
