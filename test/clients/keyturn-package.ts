/**
 * The libraries of this checkout in the place of the package, for pages that import `keyturn/client` and `keyturn/verify`.
 */
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

const SOURCES = pathToFileURL(join(import.meta.dirname, '../../src')).href

/**
 * Commands that install the frameworks of the page, and the libraries. Node.js strips no types below `node_modules`, and the sources are not
 * there.
 */
export const INSTALL_KEYTURN = `
cp "$PAGE"/package*.json . && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
mkdir node_modules/keyturn && cd node_modules/keyturn
echo '{"type": "module", "exports": {"./client": "./client.js", "./verify": "./verify.js"}}' > package.json
for name in client verify; do echo "export * from '${SOURCES}/$name/index.ts'" > $name.js; done
`
