/**
 * The client that openapi-generator makes for Go of the description of the API, without options: it compiles.
 */
import { cp } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, expect, it } from '@jest/globals'
import { cannotInstall, missing, shellIn } from '../support/foreign-tools.ts'
import { removeFolder, temporaryFolder } from '../support/keyturn.ts'
import { describeUnless } from '../support/unless.ts'

const JAR = 'openapi-generator-cli-7.17.0.jar'
const TOOLS = {
  needs: { Java: 'java -version', Maven: 'mvn --version', Go: 'go version' },
  install: `test -e "$CACHE/${JAR}" || mvn -q -B org.apache.maven.plugins:maven-dependency-plugin:3.9.0:copy -Dartifact=org.openapitools:openapi-generator-cli:7.17.0 -DoutputDirectory="$CACHE"`,
}

const folder = await temporaryFolder()
afterAll(() => removeFolder(folder))
const shell = shellIn(folder, 'openapi-generator')
const obstacle = missing(TOOLS) ?? (await cannotInstall(TOOLS, shell))
if (obstacle !== undefined) process.stderr.write(`Skipped openapi-generator: ${obstacle}\n`)

describeUnless(obstacle)('the Go client of openapi-generator', () => {
  it('compiles without options', async () => {
    await cp(join(import.meta.dirname, '../../gen/openapi.json'), join(folder, 'openapi.json'))
    const printed = await shell(
      `java -jar "$CACHE/${JAR}" generate -g go -i openapi.json -o client > log && cd client && go build ./... && echo built`,
    )
    expect(printed).toBe('built\n')
  })
})
