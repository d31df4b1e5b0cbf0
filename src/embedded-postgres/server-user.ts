/** The user that PostgreSQL runs as: that of this process, but never root, whom PostgreSQL refuses. */
import { lchown, readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'

export interface ServerUser {
  readonly name: string
  readonly uid: number
  readonly gid: number
}

/** In the order in which they are taken. */
const PREFERRED = ['postgres', 'nobody']

/**
 * Who runs PostgreSQL on a database folder. Null: the user of this process.
 *
 * @param folder Its owner goes before the others, if it is there.
 * @throws {Error} that says what to do, if this process is root and there is no other user.
 */
export async function serverUser(folder: string, accounts = '/etc/passwd'): Promise<ServerUser | null> {
  if (process.getuid?.() !== 0) return null
  const users = parseAccounts(await readFile(accounts, 'utf8').catch(() => ''))
  const owner = await stat(folder).catch(() => undefined)
  if (owner !== undefined && owner.uid !== 0) {
    return users.find(({ uid }) => uid === owner.uid) ?? { name: String(owner.uid), uid: owner.uid, gid: owner.gid }
  }
  const user = PREFERRED.flatMap((name) => users.filter((user) => user.name === name && user.uid !== 0))[0]
  if (user !== undefined) return user
  throw new Error(
    'PostgreSQL refuses to run as root, and there is neither a user postgres nor a user nobody: run Keyturn as another user',
  )
}

/** Gives a folder and everything in it to the user. Follows no symbolic link: one could lead to a file of root. */
export async function giveTo(user: ServerUser | null, folder: string): Promise<void> {
  if (user === null) return
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    await lchown(join(entry.parentPath, entry.name), user.uid, user.gid)
  }
  await lchown(folder, user.uid, user.gid)
}

function parseAccounts(text: string): ServerUser[] {
  return text.split('\n').flatMap((line) => {
    const [name = '', , uid = '', gid = ''] = line.split(':')
    return uid === '' ? [] : [{ name, uid: Number(uid), gid: Number(gid) }]
  })
}
