/**
 * Jest's environment for Node, with two things that make tests several times faster.
 *
 * The server is loaded once per worker process of Jest, outside the modules of the test files. Jest loads every module anew for
 * every test file: the server with all that it needs takes most of a second each time, and what the compiler has learned about it
 * is lost.
 *
 * The global object of a test file is an ordinary one. That of Jest asks JavaScript at each use of a global such as `Date`, which
 * makes code of many small steps two to three times as slow.
 */
import vm from 'node:vm'
import { TestEnvironment } from 'jest-environment-node'
import type { ServerHost } from './server-host.ts'

/** What test files find as a global variable. */
export interface TestGlobals {
  /** Loads the server at the first call. */
  readonly loadServerHost: () => Promise<ServerHost>
}

// biome-ignore lint/style/noDefaultExport: Jest asks for one.
export default class extends TestEnvironment {
  constructor(...args: ConstructorParameters<typeof TestEnvironment>) {
    const { createContext } = vm
    vm.createContext = () => createContext(vm.constants.DONT_CONTEXTIFY)
    try {
      super(...args)
    } finally {
      vm.createContext = createContext
    }
  }

  override async setup(): Promise<void> {
    await super.setup()
    const globals: TestGlobals = { loadServerHost: async () => (await import('./server-host.ts')).SERVER_HOST }
    Object.assign(this.global, globals)
  }
}
