import { testLanguagePage } from './language-page.ts'

testLanguagePage({
  name: 'go',
  needs: { Go: 'go version' },
  roles: true,
  verify: './example verify',
})
