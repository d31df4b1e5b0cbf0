/**
 * Which fields an update changes (AIP-134, AIP-161).
 */
import type { FieldMask } from '@bufbuild/protobuf/wkt'
import { invalidField } from './violations.ts'

/**
 * The paths of a mask.
 *
 * @param known The fields that can be changed.
 * @throws {ConnectError} `invalid_argument` if the mask is missing, is empty or names anything else.
 */
export function pathsOf<Path extends string>(mask: FieldMask | undefined, known: readonly Path[]): ReadonlySet<Path> {
  const paths = (mask?.paths ?? []).map((text) => {
    const path = known.find((name) => name === text)
    if (path === undefined) throw invalidField('update_mask', `must name what to change: ${known.join(', ')}`)
    return path
  })
  if (paths.length === 0) throw invalidField('update_mask', `must name what to change: ${known.join(', ')}`)
  return new Set(paths)
}
