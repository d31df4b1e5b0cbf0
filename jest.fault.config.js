/**
 * The tests of processes in full: those that `npm test` runs, and the long ones, in which real processes are under load while
 * something breaks. One file at a time, because each needs the machine.
 */
import config from './jest.config.js'

/** @type {import('jest').Config} */
export default {
  ...config,
  roots: ['<rootDir>/test/process', '<rootDir>/test/fault'],
  testPathIgnorePatterns: [],
  maxWorkers: 1,
}
