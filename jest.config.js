/** More than the cores of a small machine where tests wait half of the time. What other projects start uses all cores, or prints figures. */
const WORKERS = { main: 3, docs: 2, issuers: 2 }
const selected = process.argv[process.argv.indexOf('--selectProjects') + 1]

/** What every project has. */
const shared = {
  testEnvironment: '<rootDir>/test/support/environment.ts',
  testMatch: ['**/*.test.ts'],
  extensionsToTreatAsEsm: ['.ts'],
  transform: {
    '\\.ts$': ['@swc/jest', { jsc: { parser: { syntax: 'typescript' }, target: 'es2024' } }],
  },
}

const databases = {
  globalSetup: '<rootDir>/test/support/global-setup.ts',
  globalTeardown: '<rootDir>/test/support/global-teardown.ts',
}

/** The tests of folders. The scripts of `package.json` select a project by its name. */
function project(displayName, folders, own = databases) {
  return { ...shared, ...own, displayName, roots: folders.map((folder) => `<rootDir>/test/${folder}`) }
}

/** @type {import('jest').Config} */
export default {
  projects: [
    project('main', ['unit', 'api', 'process']),
    project('docs', ['docs']),
    // The tests of processes in full: the long ones, in which real processes are under load while something breaks, too.
    project('fault', ['process', 'fault']),
    project('clients', ['clients']),
    project('interop', ['interop']),
    project('issuers', ['issuers']),
    project('console', ['console']),
    // On the database that it is given.
    project('database', ['database'], {}),
  ],
  maxWorkers: WORKERS[selected] ?? 1,
  // What waits has its own limits; this one ends what hangs, on a machine that is busy with other things too. A project cannot have one.
  testTimeout: 180_000,
}
