/**
 * Writes `keyturn-proto-VERSION.tar.gz`, the proto files for clients with the licence, into a folder. The same files make the
 * same bytes, on every machine and at any time. Needs GNU tar.
 *
 * Takes the folder.
 */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const [folder = '.'] = process.argv.slice(2)
const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string }
const name = `keyturn-proto-${version}.tar.gz`

execFileSync('tar', [
  '--create',
  `--file=${resolve(folder, name)}`,
  '--use-compress-program=gzip --best --no-name',
  '--format=ustar',
  '--sort=name',
  // The date that npm gives the files of packages.
  '--mtime=1985-10-26 08:15:00Z',
  '--owner=0',
  '--group=0',
  '--numeric-owner',
  '--mode=u=rwX,go=rX',
  `--directory=${join(ROOT, 'gen/proto')}`,
  '.',
  `--directory=${ROOT}`,
  'LICENSE',
])
console.log(name)
