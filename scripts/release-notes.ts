/**
 * Prints what the changelog says about the version of package.json. Fails if it says nothing.
 */
import { readFileSync } from 'node:fs'

const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string }
const notes = sectionOf(readFileSync('CHANGELOG.md', 'utf8'), version)
if (notes === '') {
  console.error(`CHANGELOG.md has no section "## ${version}": rename "## Unreleased", and begin a new one above it.`)
  process.exitCode = 1
} else {
  console.log(notes)
}

/** The text under the heading of a version, which may have a date behind it. */
function sectionOf(changelog: string, version: string): string {
  const sections = changelog.split(/^## /m).slice(1)
  const section = sections.find((text) => text.split(/\s/, 1)[0]?.replace(/^\[|\]$/g, '') === version)
  return section === undefined ? '' : section.slice(section.indexOf('\n')).trim()
}
