/**
 * The tests of processes in full: those that `npm test` runs, and the long ones, in which real processes are under load while
 * something breaks. One file at a time, for the figures that they print; `.ci/run` runs several beside one another.
 */
import config from './jest.config.js'

/** @type {import('jest').Config} */
export default {
  ...config,
  roots: ['<rootDir>/test/process', '<rootDir>/test/fault'],
  testPathIgnorePatterns: [],
  maxWorkers: 1,
}
