/**
 * Builds the page into `dist/console`, from where the server serves it: one HTML file, and files with a hash in their names.
 */
import { join } from 'node:path'
import { defineConfig } from 'vite'

export default defineConfig({
  root: import.meta.dirname,
  base: '/console/',
  resolve: {
    // The rules of the requests are checked by the API. Their description would be a fifth of the script.
    alias: {
      '@bufbuild/protovalidate/gen/buf/validate/validate_pb.js': join(
        import.meta.dirname,
        'api/no-validation-rules.ts',
      ),
    },
  },
  build: {
    outDir: '../dist/console',
    emptyOutDir: true,
    // The content security policy allows files only.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // Libraries are copied into the script: their licences want to be beside it. It is not served.
    license: { fileName: 'licenses.md' },
  },
})
