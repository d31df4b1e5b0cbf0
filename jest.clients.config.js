/**
 * The clients of other languages, which need their tools and packages. One file at a time: compilers use all cores.
 */
import config from './jest.config.js'

/** @type {import('jest').Config} */
export default {
  ...config,
  roots: ['<rootDir>/test/clients'],
  testPathIgnorePatterns: [],
  maxWorkers: 1,
}
