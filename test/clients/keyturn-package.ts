/**
 * The libraries of this checkout as the package has them, compiled, for pages that import `keyturn/client` and `keyturn/verify`.
 */
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '../..')

const COMPILER = {
  extends: `${ROOT}/tsconfig.json`,
  compilerOptions: {
    rootDir: `${ROOT}/src`,
    outDir: 'dist',
    noEmit: false,
    rewriteRelativeImportExtensions: true,
    typeRoots: [`${ROOT}/node_modules/@types`],
  },
  include: ['client', 'verify', 'discovery'].map((room) => `${ROOT}/src/${room}`),
}

const EXPORTS = { './client': './dist/client/index.js', './verify': './dist/verify/index.js' }

/** Commands that install the frameworks of the page, and the libraries with what they depend on. */
export const INSTALL_KEYTURN = `
cp "$PAGE"/package*.json . && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
mkdir node_modules/keyturn && cd node_modules/keyturn
echo '${JSON.stringify({ name: 'keyturn', version: '0.0.0', type: 'module', exports: EXPORTS })}' > package.json
echo '${JSON.stringify(COMPILER)}' > tsconfig.json
'${ROOT}/node_modules/.bin/tsc' -p .
cp -r '${ROOT}/gen' gen
for dependency in @bufbuild @connectrpc jose; do ln -s "${ROOT}/node_modules/$dependency" "../$dependency"; done
`
