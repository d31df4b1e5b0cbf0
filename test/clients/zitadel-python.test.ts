import { testZitadelSdk } from './zitadel-sdk.ts'

await testZitadelSdk({
  name: 'zitadel-client of PyPI',
  folder: 'zitadel-python',
  needs: { 'Python 3 with venv': 'python3 -c "import ensurepip, venv"' },
  install:
    'test -e "$CACHE/bin/python" || python3 -m venv "$CACHE"; pip install --quiet --requirement requirements.txt',
  run: 'python -W ignore client.py',
  signIn: 'a wrong secret: invalid_client',
})
