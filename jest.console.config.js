/**
 * The page of the console in a browser, against real servers. One file at a time: a browser uses all cores.
 */
import config from './jest.config.js'

/** @type {import('jest').Config} */
export default {
  ...config,
  roots: ['<rootDir>/test/console'],
  testPathIgnorePatterns: [],
  maxWorkers: 1,
}
