import { testLanguagePage } from './language-page.ts'

testLanguagePage({
  name: 'python',
  needs: { 'Python 3 with venv': 'python3 -c "import ensurepip, venv"' },
  roles: true,
  verify: 'venv/bin/python verify.py',
})
