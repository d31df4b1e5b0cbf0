/**
 * Runs SDKs of ZITADEL, as they are published, against a real server with `KEYTURN_ZITADEL_API=on`.
 */
import { cp } from 'node:fs/promises'
import { join } from 'node:path'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { InstanceRole } from '../../gen/iam/user/v2/service_user_pb.js'
import { type Administration, administrationOf } from '../support/administration.ts'
import { cannotInstall, type ForeignTools, missing, type Shell, shellIn } from '../support/foreign-tools.ts'
import { type Keyturn, removeFolder, startKeyturnInProcess, temporaryFolder } from '../support/keyturn.ts'
import { describeUnless } from '../support/unless.ts'

/** What each program prints about one of the two services: what it did, and how calls that fail were reported. */
const lifeOfKeys = (service: string) => `${service}
nothing asked for: RSA_BITS_2048 RSA_HASHER_SHA256
deleted while initial: true, again: false
created STATE_INITIAL ECDSA_CURVE_P256
activated STATE_INACTIVE STATE_ACTIVE
delete the active key: failed_precondition WEB_KEY_ACTIVE
activate an unknown key: not_found WEB_KEY_NOT_FOUND
activate no key: invalid_argument INVALID_ARGUMENT
create without the permission: permission_denied PERMISSION_MISSING
rolled back and deleted: true
`

/** How one SDK is installed and run. Commands are for bash, in a copy of `folder`. */
export interface ZitadelSdk extends ForeignTools {
  /** The package with its registry, for people. */
  readonly name: string
  /** Below `test/clients`: the program, and the versions of what it needs. */
  readonly folder: string
  readonly build?: string
  /** Runs the program, which prints `lifeOfKeys` of each service. */
  readonly run: string
  /** How the program signs in with an invalid secret or token, and what it prints last. */
  readonly signIn: string
}

/** The tests of one SDK. @param more Further tests, in the folder of the program. */
export async function testZitadelSdk(sdk: ZitadelSdk, more?: (shell: Shell) => void): Promise<void> {
  const folder = await temporaryFolder()
  await cp(join(import.meta.dirname, sdk.folder), folder, { recursive: true })
  const shell = shellIn(folder, sdk.folder)
  const obstacle = missing(sdk) ?? (await cannotInstall(sdk, shell))
  if (obstacle !== undefined) {
    // As in `generated-client.ts`.
    process.stderr.write(`Skipped ${sdk.name}: ${obstacle}\n`)
    await removeFolder(folder)
  }

  describeUnless(obstacle)(`${sdk.name}, as it is published,`, () => {
    let server: Keyturn
    let env: Record<string, string>
    beforeAll(async () => {
      if (sdk.build !== undefined) await shell(sdk.build)
      server = await startKeyturnInProcess({ env: { KEYTURN_ZITADEL_API: 'on' } })
      env = await credentialsOf(server)
    }, 300_000)
    afterAll(async () => {
      await server?.stop()
      if (server !== undefined) await removeFolder(server.dataDir)
      await removeFolder(folder)
    })

    it('signs in, creates, activates, lists and deletes keys, and reads errors', async () => {
      const printed = await shell(sdk.run, env)
      expect(printed).toBe(`${lifeOfKeys('v2')}${lifeOfKeys('v2beta')}${sdk.signIn}\n`)
    })
    more?.(shell)
  })
}

/** The credentials of the administrator, and a token of a user who may only read. */
async function credentialsOf(server: Keyturn): Promise<Record<string, string>> {
  const { base_url, client_id, client_secret } = await server.admin()
  const admin = await administrationOf(server)
  const { projects } = await admin.projects.listProjects({})
  const { serviceUser } = await admin.users.createServiceUser({ projectId: projects[0]!.projectId, name: 'viewer' })
  const { userId } = serviceUser!
  await admin.users.setInstanceRoles({ userId, instanceRoles: [InstanceRole.IAM_OWNER_VIEWER] })
  return {
    ZITADEL_URL: base_url,
    ZITADEL_CLIENT_ID: client_id,
    ZITADEL_CLIENT_SECRET: client_secret,
    ZITADEL_TOKEN: await personalAccessToken(admin, client_id.split('@')[0]!),
    ZITADEL_VIEWER_TOKEN: await personalAccessToken(admin, userId),
  }
}

async function personalAccessToken({ users }: Administration, userId: string): Promise<string> {
  const expirationDate = timestampFromDate(new Date(Date.now() + 3_600_000))
  return (await users.createPersonalAccessToken({ userId, expirationDate })).token
}
