/**
 * Jest's environment for Node, which loads the server once per worker process of Jest, outside the modules of the test files.
 *
 * Jest loads every module anew for every test file. The server with all that it needs takes most of a second each time, and
 * what the compiler has learned about it is lost.
 */
import { TestEnvironment } from 'jest-environment-node'
import type { ServerHost } from './server-host.ts'

/** What test files find as a global variable. */
export interface TestGlobals {
  /** Loads the server at the first call. */
  readonly loadServerHost: () => Promise<ServerHost>
}

// biome-ignore lint/style/noDefaultExport: Jest asks for one.
export default class extends TestEnvironment {
  override async setup(): Promise<void> {
    await super.setup()
    const globals: TestGlobals = { loadServerHost: async () => (await import('./server-host.ts')).SERVER_HOST }
    Object.assign(this.global, globals)
  }
}
