/**
 * The libraries of this checkout as they are published, compiled, for pages that import `@keyturn/client` and `@keyturn/verify`.
 */
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '../..')

/** What the page says, and commands that install the frameworks of the page, and the libraries with what they depend on. */
export const INSTEAD_OF_INSTALLING = {
  'npm install @keyturn/client @keyturn/verify': `
cp "$PAGE"/package*.json . && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
node '${ROOT}/scripts/build-packages.ts' node_modules/@keyturn
for dependency in @bufbuild @connectrpc jose; do ln -s "${ROOT}/node_modules/$dependency" "node_modules/$dependency"; done
`,
}
