/**
 * `docs/databases.md` beside the schema that the migrations make.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from '@jest/globals'
import { sharedPostgres } from '../support/new-database.ts'

const ROOT = join(import.meta.dirname, '../..')
const PAGE = readFileSync(join(ROOT, 'docs/databases.md'), 'utf8')
const USED = PAGE.slice(PAGE.indexOf('## What Keyturn uses'), PAGE.indexOf('## What is known'))

let url: string
beforeAll(async () => {
  url = await sharedPostgres().createMigratedDatabase()
})

async function column(statement: string): Promise<string[]> {
  const rows = await sharedPostgres().query<{ value: string }>(statement, [], url)
  return rows.map(({ value }) => value).sort()
}

/** The texts of the templates of a source, also of nested ones, without what is inserted. */
function templatesOf(source: string): string[] {
  const texts: string[] = []
  const innermost = /`((?:[^`$\\]|\\.|\$(?!\{)|\$\{[^`{}]*\})*)`/g
  let rest = source.replaceAll(/\/\*[\s\S]*?\*\/|\/\/ .*/g, '')
  while (innermost.test(rest)) {
    rest = rest.replaceAll(innermost, (_, text: string) => {
      texts.push(text.replaceAll(/\$\{[^}]*\}/g, 'inserted'))
      return '0'
    })
  }
  return texts
}

describe('the page of what Keyturn uses of SQL', () => {
  it('names every type of a column, and no other', async () => {
    const types = await column(`
      select distinct format_type(a.atttypid, null) as value
        from pg_attribute a join pg_class c on c.oid = a.attrelid
        where c.relnamespace = 'public'::regnamespace and c.relkind = 'r' and a.attnum > 0 and not a.attisdropped`)
    const [, listed = ''] = /\| Types: (.*?); identity columns/.exec(USED) ?? []
    expect(listed.replaceAll('`', '').split(', ').sort()).toEqual(types)
  })

  it('is right that there are btrees and no other kind of index', async () => {
    const kinds = await column(`
      select distinct am.amname as value from pg_class i join pg_am am on am.oid = i.relam
        where i.relkind = 'i' and i.relnamespace = 'public'::regnamespace`)
    expect(kinds).toEqual(['btree'])
    expect(USED).toContain('btree and no other kind')
  })

  it('is right that there is no extension, function or trigger', async () => {
    expect(await column('select extname as value from pg_extension')).toEqual(['plpgsql'])
    expect(await column(`select proname as value from pg_proc where pronamespace = 'public'::regnamespace`)).toEqual([])
    expect(await column('select tgname as value from pg_trigger where not tgisinternal')).toEqual([])
  })

  it('names every function of PostgreSQL that a statement calls', async () => {
    const types = await column(`select typname::text as value from pg_type`)
    const functions = new Set([
      ...(await column(`select distinct proname::text as value from pg_proc`)).filter((name) => !types.includes(name)),
      // Of the grammar.
      ...['coalesce', 'greatest', 'least', 'nullif'],
    ])
    const sources = readdirSync(join(ROOT, 'src/storage'), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .map((name) => readFileSync(join(ROOT, 'src/storage', name), 'utf8'))
    const called = new Set(sources.flatMap(templatesOf).flatMap((text) => text.match(/\b[a-z_]+(?=\()/g) ?? []))
    const calledFunctions = [...called].filter((name) => functions.has(name)).sort()
    // Some that are at the ends of what this finds: in a nested template, of the grammar, of snapshots.
    expect(calledFunctions).toEqual(expect.arrayContaining(['make_interval', 'greatest', 'pg_snapshot_xmin', 'strpos']))
    const code = (USED.match(/`[^`]+`/g) ?? []).join(' ')
    expect(calledFunctions.filter((name) => !new RegExp(`\\b${name}\\b`).test(code))).toEqual([])
  })
})
