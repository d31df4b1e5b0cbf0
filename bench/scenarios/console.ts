/**
 * What the console costs those who get tokens: nothing.
 */
import { postgresInstance, startKeyturnContender } from '../contenders/keyturn.ts'
import type { Place } from '../contenders/references.ts'
import { costRow } from './rows.ts'
import type { Bench, Result } from './scenario.ts'
import { tokenLoad } from './tokens.ts'
import { cpuRatio, takeTurns } from './turns.ts'

/** ES256. A server with the console and one without it, otherwise the same. */
export async function console({ postgres, load, effort }: Bench, place: Place): Promise<Result> {
  const start = async (name: string, env: Readonly<Record<string, string>>) => {
    const settings = { ...postgresInstance(await postgres.createDatabase()), env }
    const contender = await startKeyturnContender(name, 'ES256', { settings, place })
    return { ...tokenLoad(contender), samples: 0 }
  }
  const turns = await takeTurns(load, effort, {
    'with the console': await start('with the console', {}),
    'KEYTURN_CONSOLE=off': await start('without', { KEYTURN_CONSOLE: 'off' }),
  })
  return {
    title: 'tokens beside the console',
    rows: Object.entries(turns).map(([name, own]) => costRow(name, own)),
    targets: [
      {
        name: 'ES256: CPU per token with the console / with KEYTURN_CONSOLE=off',
        limit: { atMost: 1.05 },
        unit: '×',
        measured: cpuRatio(turns['with the console'], turns['KEYTURN_CONSOLE=off']),
      },
    ],
    notes: [],
  }
}
