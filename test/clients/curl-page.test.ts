import { testLanguagePage } from './language-page.ts'

testLanguagePage({
  name: 'curl',
  needs: { curl: 'curl --version', jq: 'jq --version' },
})
