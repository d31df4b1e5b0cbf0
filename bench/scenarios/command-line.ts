/**
 * What a call of the command line costs: CPU time and memory of its process, with a warm compile cache, as a user's second call has.
 */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { FLAGS, MAIN, startKeyturn } from '../contenders/keyturn.ts'
import type { Place } from '../contenders/references.ts'
import { spreadOf } from '../statistics.ts'
import type { Bench, Result } from './scenario.ts'

const COMMANDS: readonly (readonly string[])[] = [['--help'], ['token'], ['keys', 'list'], ['users', 'list']]

/** Says at its end what a process has used. */
const USAGE = 'keyturn-bench-usage '
const SAYS_USAGE = `data:text/javascript,process.on('exit',()=>{
  const {userCPUTime,systemCPUTime,maxRSS}=process.resourceUsage();
  process.stderr.write('${USAGE}'+JSON.stringify({cpuMicros:userCPUTime+systemCPUTime,kilobytes:maxRSS}))
})`

interface Usage {
  readonly cpuMicros: number
  readonly kilobytes: number
}

/** Commands that scripts call often, on a running server. */
export async function commandLine({ effort }: Bench, place: Place): Promise<Result> {
  // Its database does not matter here.
  const server = await startKeyturn({}, place)
  const env = {
    PATH: process.env.PATH,
    HOME: process.env.HOME,
    KEYTURN_CREDENTIALS: join(server.dataDir, 'admin.json'),
  }
  const measured = []
  for (const args of COMMANDS) {
    // Fills the cache.
    await usageOf(args, env)
    const usages: Usage[] = []
    for (let i = 0; i < effort.starts; i += 1) usages.push(await usageOf(args, env))
    measured.push({
      name: `keyturn ${args.join(' ')}`,
      cpuMillis: spreadOf(usages.map(({ cpuMicros }) => cpuMicros / 1000)),
      megabytes: spreadOf(usages.map(({ kilobytes }) => kilobytes / 1024)).median,
    })
  }
  await server.stop()
  return {
    title: 'a call of the command line',
    rows: measured.map(({ name, cpuMillis: { median, min, max }, megabytes }) => ({
      name,
      cells: { 'CPU ms': median, 'best ms': min, 'worst ms': max, 'memory MB': megabytes },
    })),
    targets: measured.map(({ name, cpuMillis }) => ({
      name: `CPU time of ${name}`,
      limit: { atMost: 0.25 },
      unit: 's',
      measured: cpuMillis.median / 1000,
    })),
    notes: [],
  }
}

async function usageOf(args: readonly string[], env: NodeJS.ProcessEnv): Promise<Usage> {
  const { stderr } = await promisify(execFile)(
    process.execPath,
    [...FLAGS, '--import', SAYS_USAGE.replaceAll(/\n\s*/g, ''), MAIN, ...args],
    { env },
  )
  return JSON.parse(stderr.slice(stderr.indexOf(USAGE) + USAGE.length)) as Usage
}
