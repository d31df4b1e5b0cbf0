#!/usr/bin/env -S node --max-semi-space-size=8
/**
 * Starts the command line with what was compiled at an earlier start, which saves a third of a start and the memory of the
 * compiler. So this file must not need one: it is no TypeScript.
 *
 * The flag, which package.json and the Dockerfile have as well, is for the server: what a request leaves behind is garbage
 * when it has been answered, so a large space for young objects costs 100 MB under load and saves nothing.
 */
import { enableCompileCache } from 'node:module'
import { join } from 'node:path'

// Beside the packages and not in a folder that everybody can write to, because what is in there runs. Where nothing can be
// written, nothing is kept.
enableCompileCache(join(import.meta.dirname, '../../node_modules/.cache/keyturn'))

await import('./main.ts')
