/** @type {import('jest').Config} */
export default {
  testEnvironment: '<rootDir>/test/support/environment.ts',
  roots: ['<rootDir>/test'],
  testMatch: ['**/*.test.ts'],
  // `npm run test:fault`, `test:interop`, `test:clients`, `test:issuers`, `test:console` and `test:database` run those.
  testPathIgnorePatterns: ['fault', 'interop', 'clients', 'issuers', 'console', 'database'].map(
    (folder) => `<rootDir>/test/${folder}/`,
  ),
  extensionsToTreatAsEsm: ['.ts'],
  transform: {
    '\\.ts$': ['@swc/jest', { jsc: { parser: { syntax: 'typescript' }, target: 'es2024' } }],
  },
  // What waits has its own limits; this one ends what hangs, on a machine that is busy with other things too.
  testTimeout: 180_000,
  globalSetup: '<rootDir>/test/support/global-setup.ts',
  globalTeardown: '<rootDir>/test/support/global-teardown.ts',
  // More than the cores of a small machine: half of the time the tests wait.
  maxWorkers: 4,
}
