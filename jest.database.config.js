/**
 * The contract of the storage on any database that speaks PostgreSQL: `npm run test:database -- URL`.
 */
import config from './jest.config.js'

const { globalSetup: _setup, globalTeardown: _teardown, ...shared } = config

/** @type {import('jest').Config} */
export default {
  ...shared,
  roots: ['<rootDir>/test/database'],
  testPathIgnorePatterns: [],
  maxWorkers: 1,
}
