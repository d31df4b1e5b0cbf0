import { testLanguagePage } from './language-page.ts'

testLanguagePage({
  name: 'rust',
  needs: { cargo: 'cargo --version', cc: 'cc --version' },
  // What was compiled stays in the cache.
  instead: { 'cargo build --quiet': 'ln -sfn "$CACHE" target && cargo build --quiet' },
  verify: 'target/debug/example verify',
})
