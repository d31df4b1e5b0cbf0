/**
 * Jest's transformer for modules that all test files share: the generated code, and the packages that only it and its clients need. They
 * are loaded once per worker process of Jest, outside the modules of the test files, where the servers of `environment.ts` have them too.
 *
 * Only for modules without state whose exports never change. They have the `Error`, `Date` and `Array` of the process and not of the test file,
 * so a package that asks for these with `instanceof` does not belong here.
 */
import { createHash } from 'node:crypto'
import { createRequire } from 'node:module'

const require = createRequire(import.meta.url)

/** Loads a module outside the modules of the test files, or returns it as it is there. */
export function sharedModule(path: string): Readonly<Record<string, unknown>> {
  return require(path)
}

/** The code of a module with the same exports, for test files. The process itself, where Jest sets all up, keeps its own. */
function process(source: string, path: string, { supportsStaticESM }: Target): { code: string } {
  if (!supportsStaticESM) return { code: source }
  const names = Object.keys(sharedModule(path))
  const bindings = names.map((name, i) => `const e${i} = shared.${name}\n`).join('')
  const exported = names.map((name, i) => `e${i} as ${name}`).join(', ')
  return {
    code: `const shared = globalThis.sharedModule(${JSON.stringify(path)})\n${bindings}export { ${exported} }\n`,
  }
}

/** Where the code will run: in a test file if it is to be a module. */
interface Target {
  readonly supportsStaticESM: boolean
}

// biome-ignore lint/style/noDefaultExport: Jest asks for one.
export default {
  process,
  /** The exports may be those of other files. */
  getCacheKey: (source: string, path: string, target: Target) =>
    createHash('sha256')
      .update(process(source, path, target).code)
      .digest('hex'),
}
