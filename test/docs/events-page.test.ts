/**
 * The commands of `docs/events.md`, as they stand there. Those that follow are ended as a reader ends them.
 */
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { type Administration, administrationOf } from '../support/administration.ts'
import { eventually } from '../support/eventually.ts'
import { collect, type Keyturn, removeServers, spawnKeyturn, startKeyturnInProcess } from '../support/keyturn.ts'

const page = readFileSync(join(import.meta.dirname, '../../docs/events.md'), 'utf8')
const commands = [...page.matchAll(/^```sh\n(.*?)^```$/gms)]
  .flatMap(([, block = '']) => block.trim().split('\n'))
  .map((line) => line.replace(/ +#.*$/, ''))

let server: Keyturn
let administration: Administration
const values = new Map<string, string>()

beforeAll(async () => {
  server = await startKeyturnInProcess()
  administration = await administrationOf(server)
  const { projects } = await administration.projects.listProjects({})
  const { serviceUser } = await administration.users.createServiceUser({
    projectId: projects[0]!.projectId,
    name: 'checkout',
  })
  values.set('USER_ID', serviceUser!.userId)
})
afterAll(() => removeServers(server))

const filledIn = (command: string) => command.replace(/USER_ID|POSITION/g, (name) => values.get(name) ?? name)

function start(command: string) {
  const child = spawnKeyturn(filledIn(command).split(/ +/).slice(2), { KEYTURN_DATA_DIR: server.dataDir })
  return { child, output: collect(child), closed: once(child, 'close') }
}

/** Follows until it prints an action, and interrupts it. */
async function followed(command: string, action: string): Promise<string> {
  const { child, output, closed } = start(command)
  let made = 0
  await eventually(async () => {
    // Made again until it follows: nothing says when it has begun.
    const name = `made-${command.length}-${made++}`
    await administration.projects.createProject({ name })
    expect(output.stdout).toContain(action)
  })
  child.kill('SIGINT')
  expect(await closed).toEqual([0, null])
  return output.stdout
}

describe('docs/events.md', () => {
  it('has commands that work as they stand there', async () => {
    expect(commands).toHaveLength(5)
    for (const command of commands) {
      if (!command.includes('--follow')) {
        const { output, closed } = start(command)
        expect(await closed).toEqual([0, null])
        expect(output.stdout).toContain('CreateServiceUser')
        continue
      }
      if (command.includes('POSITION')) {
        const [line = ''] = (await followed('npx keyturn audit --follow --json', 'CreateProject')).split('\n')
        values.set('POSITION', (JSON.parse(line) as { position: string }).position)
      }
      const isAboutUser = command.includes('users/')
      await followed(command, isAboutUser ? 'CreateServiceUser' : 'CreateProject')
    }
  })
})
