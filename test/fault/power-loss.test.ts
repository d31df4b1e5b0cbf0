/**
 * The loss of power under a server with an embedded database: the data directory is on a disk with a volatile write cache, and
 * the server is started again on what a cut leaves there. See `volatile-disk.ts` for why that is what a real cut may leave.
 *
 * `POWER_CUTS` is how often the power is cut, 4 by default. `POWER_CUT_SEED` repeats the choice of moments and of lost blocks, though not
 * the timing of the processes.
 */
import { mkdtempSync } from 'node:fs'
import { readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from '@jest/globals'
import { administrationWith } from '../support/administration.ts'
import { type Keyturn, requestToken, startKeyturn } from '../support/keyturn.ts'
import { describeUnless } from '../support/unless.ts'
import { auditTrailOf, type State, stateAfter, stateOf } from './audit-trail.ts'
import { ChangeLoad } from './change-load.ts'
import { createRandom } from './random.ts'
import {
  type MountedDisk,
  mountCrashImage,
  mountVolatileDisk,
  type VolatileDisk,
  whyNoVolatileDisk,
} from './volatile-disk.ts'

const CUTS = Number(process.env.POWER_CUTS ?? 4)
const SEED = Number(process.env.POWER_CUT_SEED ?? Math.floor(Math.random() * 2 ** 31))
const DISK_MEGABYTES = 400
/** How many changes are acknowledged from one cut to the next, at most. */
const MOST_CHANGES = 40
/** How many writes of the disk there are from an acknowledgement to a cut, at most. A commit has about three. */
const MOST_WRITES = 8
const CUT_TIMEOUT = 30_000

describeUnless(await whyNoVolatileDisk())('a loss of power under the embedded database', () => {
  const servers: Keyturn[] = []
  const disks: MountedDisk[] = []
  let image: string

  beforeEach(() => {
    image = join(mkdtempSync(join(tmpdir(), 'keyturn-image-')), 'image')
  })
  afterEach(async () => {
    for (const server of servers.splice(0)) await server.stop()
    for (const mounted of disks.splice(0).reverse()) await mounted.unmount()
    await rm(join(image, '..'), { recursive: true })
  })

  async function mountDisk(): Promise<VolatileDisk> {
    const disk = await mountVolatileDisk(DISK_MEGABYTES)
    disks.push(disk)
    return disk
  }

  /** Starts a server on what a cut left. */
  async function startOnImage() {
    const mounted = mountCrashImage(image)
    disks.push(mounted)
    return { mounted, ...(await start(mounted)) }
  }

  /** Stops a server and takes its disk away. */
  async function stop({ server, mounted }: { server: Keyturn; mounted: MountedDisk }) {
    servers.splice(servers.indexOf(server), 1)
    expect(await server.stop()).toBe(0)
    disks.splice(disks.indexOf(mounted), 1)
    await mounted.unmount()
  }

  async function start({ folder }: MountedDisk) {
    const dataDir = join(folder, 'data')
    const server = await startKeyturn({ dataDir, makesDatabase: true, env: { KEYTURN_ACTIVATION_GUARD: 'off' } })
    servers.push(server)
    expect((await fetch(new URL('/readyz', server.listenUrl))).status).toBe(200)
    const credentials = await readFile(join(dataDir, 'admin.json'), 'utf8')
    // The port, and with it the address in the file, may be another one than at the first start.
    const token_endpoint = `${server.listenUrl}/oauth/v2/token`
    const admin = administrationWith(server, await requestToken({ ...JSON.parse(credentials), token_endpoint }))
    return { server, credentials, admin }
  }

  /** Starts a server on what is left, and compares it with what was acknowledged before the cut. */
  async function expectNothingLost(acknowledged: readonly string[], before: State, credentials: string) {
    const restarted = await startOnImage()
    expect(restarted.credentials).toBe(credentials)
    const trail = await auditTrailOf(restarted.admin)
    const kept = new Set(trail)
    expect(acknowledged.filter((change) => !kept.has(change))).toEqual([])
    expect([...(await stateOf(restarted.admin))].sort()).toEqual([...stateAfter(before, trail)].sort())
    await stop(restarted)
  }

  it(
    `keeps every acknowledged change, and no half of any (POWER_CUT_SEED=${SEED})`,
    async () => {
      const random = createRandom(SEED)
      const disk = await mountDisk()
      const { admin, credentials } = await start(disk)
      const before = await stateOf(admin)
      const load = new ChangeLoad(admin)

      for (let cut = 1; cut <= CUTS; cut += 1) {
        const { acknowledged, cached, lost } = await load.during(1 + Math.floor(random() * MOST_CHANGES), async () => {
          const acknowledged = [...load.acknowledged]
          const afterWrites = Math.floor(random() * MOST_WRITES)
          const seed = Math.floor(random() * 2 ** 32)
          return { acknowledged, ...(await disk.cutPower({ image, seed, afterWrites })) }
        })
        process.stdout.write(
          `power cut ${cut}: ${acknowledged.length} changes acknowledged, ${lost} of ${cached} blocks in the cache lost\n`,
        )
        await expectNothingLost(acknowledged, before, credentials)
      }
    },
    (CUTS + 1) * CUT_TIMEOUT,
  )
})
