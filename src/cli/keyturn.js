#!/usr/bin/env -S node --max-semi-space-size=8
/**
 * Starts the command line with the compile cache of earlier starts, which saves a third of the time of a start and the memory of the
 * compiler. This file is JavaScript, so that a checkout and the npm package can have the same one: in a checkout Node.js runs the
 * TypeScript beside it, and the package has that compiled, because Node.js strips no types of packages.
 *
 * The flag, which package.json and the Dockerfile have as well, is for the server: objects of a request are garbage once it is
 * answered, so a larger young generation costs 100 MB under load and saves nothing.
 */
import { existsSync } from 'node:fs'
import * as modules from 'node:module'
import { userInfo } from 'node:os'
import { join } from 'node:path'

// An older Node.js lacks more than this, and says so less clearly.
if (modules.constants?.compileCacheStatus === undefined) {
  process.stderr.write(`keyturn: Node.js 22.18 or newer is needed, and this is ${process.version}\n`)
  process.exit(2)
}

// Beside the packages, or with the files of this user, and not in a folder that others can write: the cached code is executed. An installed
// package has its packages beside it, and no folder `node_modules` of its own. Made by root with a strict umask, such a folder would keep
// other users from finding any package.
const own = join(import.meta.dirname, '../../node_modules')
const packages = existsSync(own) ? own : join(import.meta.dirname, '../../..')
if (!enable(join(packages, '.cache/keyturn'))) {
  try {
    // Not HOME, which root may have from another user.
    enable(join(userInfo().homedir, '.cache/keyturn'))
  } catch {
    // A user without an account, as in some containers, has no cache.
  }
}

const compiled = '../../dist/cli/main.js'
if (existsSync(join(import.meta.dirname, 'main.ts'))) await import('./main.ts')
else await import(compiled)

function enable(folder) {
  return modules.enableCompileCache(folder).status !== modules.constants.compileCacheStatus.FAILED
}
