/**
 * The verifiers of other projects: one server, and all of them beside it. Installs them first; what cannot be installed is
 * skipped.
 */
import config from './jest.config.js'

/** @type {import('jest').Config} */
export default {
  ...config,
  roots: ['<rootDir>/test/interop'],
  testPathIgnorePatterns: [],
  maxWorkers: 1,
}
