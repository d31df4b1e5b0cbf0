/**
 * Another process that wants a data directory, for `data-directory.test.ts`. Keeps it until it is killed.
 *
 * Argument: the directory.
 */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { lockDataDirectory } from '../../../src/storage/data-directory.ts'

/** What the worker says. */
export type LockAnswer = { readonly taken: true } | { readonly taken: false; readonly message: string }

const [folder = ''] = process.argv.slice(2)
const answer: LockAnswer = await lockDataDirectory(folder).then(
  () => ({ taken: true }),
  (error: Error) => ({ taken: false, message: error.message }),
)
// The lock is not kept in a variable here, and must outlive that.
setFlagsFromString('--expose-gc')
runInNewContext('gc')()
process.send?.(answer)
// A listener keeps the channel, and so the process, alive.
process.on('message', () => {})
