/**
 * JWTs of real issuers: SPIRE and Kubernetes, whose programs CONTRIBUTING.md says how to build. Without them the tests are skipped.
 */
import config from './jest.config.js'

/** @type {import('jest').Config} */
export default {
  ...config,
  roots: ['<rootDir>/test/issuers'],
  testPathIgnorePatterns: [],
  maxWorkers: 2,
}
