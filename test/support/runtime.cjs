/**
 * Jest's runtime, which leaves the modules of the source and of packages to Node.js: they are loaded once per worker process of Jest.
 *
 * Jest loads every module anew for every test file. With all that the tests import, the server above all, that is most of the time of a short
 * test, and what the compiler has learned is lost. The modules of the source keep no state.
 */
const { join, sep } = require('node:path')
const { default: Runtime } = require('jest-runtime')

const ROOT = join(__dirname, '../..')
const OUTSIDE = [
  ...['src', 'gen', 'packages', 'node_modules'].map((folder) => join(ROOT, folder) + sep),
  // Sets variables of this process.
  join(__dirname, 'server-host.ts'),
]
/** What Jest has in its own way, and a package that takes only functions of its own realm. */
const INSIDE = /node_modules[\\/](@jest|jest-[\w-]+|expect|@grpc)[\\/]/
/** What test files share with those modules, so that errors and dates are instances of one class, and a date that a test sets holds for both. */
const SHARED = ['Date', 'Error', 'AggregateError', 'RangeError', 'SyntaxError', 'TypeError', 'Map', 'Set', 'Promise']

/** The path of a module that Node.js loads, which Jest also calls like one of Node.js itself; undefined for others. */
function outside(name) {
  const path = name.replace(/^node:/, '')
  const isOutside = OUTSIDE.some((start) => path.startsWith(start)) && !path.endsWith('.json') && !INSIDE.test(path)
  return isOutside ? path : undefined
}

const loaded = new Map()

function load(path) {
  if (!loaded.has(path)) {
    // What the set-up of the run has loaded in this process, Jest has compiled to another kind of module.
    delete require.cache[path]
    loaded.set(path, require(path))
  }
  return loaded.get(path)
}

module.exports = class extends Runtime {
  constructor(config, environment, ...rest) {
    super(config, environment, ...rest)
    for (const name of SHARED) environment.global[name] = globalThis[name]
    const { _resolution: resolution, coreModule } = this
    const [isCoreModule, requireCore] = [resolution.isCoreModule, coreModule.require]
    resolution.isCoreModule = (name) => outside(name) !== undefined || isCoreModule.call(resolution, name)
    coreModule.require = (name) => {
      const path = outside(name)
      return path === undefined ? requireCore.call(coreModule, name) : load(path)
    }
  }

  unstable_shouldLoadAsEsm(path) {
    return outside(path) !== undefined || super.unstable_shouldLoadAsEsm(path)
  }
}
