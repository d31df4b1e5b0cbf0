/**
 * The symbolic links between the libraries of PostgreSQL. An npm package cannot hold links, so the package lists them and its install
 * script makes them. npm may be configured to run no install scripts: then Keyturn makes them.
 */
import { lstat, readFile, symlink } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'

const LIST = 'native/pg-symlinks.json'
const FOLDER = 'native'

/** A link below the folder of the programs. */
export interface ProgramLink {
  /** Relative to the folder of the programs. */
  readonly path: string
  /** Relative to the folder of the link. */
  readonly target: string
}

/** The links of the package in a folder that are not there. @param root The folder of the package. */
export async function missingLinks(root: string): Promise<readonly ProgramLink[]> {
  const list = await readFile(join(root, LIST), 'utf8').catch(() => '[]')
  // In the list the source is the file, and the target is the link.
  const listed = JSON.parse(list) as readonly { readonly source: string; readonly target: string }[]
  const links = listed.map(({ source, target }) => ({
    path: relative(FOLDER, target),
    target: relative(dirname(target), source),
  }))
  const found = await Promise.all(links.map(({ path }) => exists(join(root, FOLDER, path))))
  return links.filter((_, index) => !found[index])
}

/** Makes links in a folder with programs. Several processes may do so at once. */
export async function makeLinks(folder: string, links: readonly ProgramLink[]): Promise<void> {
  for (const { path, target } of links) {
    await symlink(target, join(folder, path)).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error
    })
  }
}

async function exists(path: string): Promise<boolean> {
  return await lstat(path).then(
    () => true,
    () => false,
  )
}
