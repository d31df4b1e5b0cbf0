/**
 * The fault tests: real processes under load while something breaks. One file at a time, because each needs the machine.
 */
import config from './jest.config.js'

/** @type {import('jest').Config} */
export default {
  ...config,
  roots: ['<rootDir>/test/fault'],
  testPathIgnorePatterns: [],
  maxWorkers: 1,
}
