/** `npm run test:database -- URL`: runs the contract of the storage on the database server at a URL. */
import { spawnSync } from 'node:child_process'

const [url, ...others] = process.argv.slice(2)
if (url === undefined || !/^postgres(ql)?:\/\//.test(url)) {
  process.stderr.write('usage: npm run test:database -- postgres://USER@HOST:PORT/DATABASE [options of jest]\n')
  process.exit(2)
}
const jest = ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning', 'node_modules/jest/bin/jest.js']
const { status } = spawnSync(process.execPath, [...jest, '--selectProjects', 'database', '--ci', ...others], {
  stdio: 'inherit',
  // Not in the arguments of the test, where other users of this machine would see the password.
  env: { ...process.env, KEYTURN_TEST_DATABASE_URL: url },
})
process.exit(status ?? 1)
