/**
 * A program that gets credentials as JSON on its standard input, as they are in a credentials file.
 */
import type { Io } from '../../io.ts'
import { runProgram } from './run-program.ts'
import type { SecretTarget } from './secret-target.ts'

/** @param command The program and its arguments, with blanks between them. No shell reads it. */
export function commandTarget({ env }: Pick<Io, 'env'>, command: string): SecretTarget {
  return {
    look: async () => 'unknown',
    async handOver(credentials) {
      const { client_secret } = credentials
      await runProgram(command.trim().split(/\s+/), {
        env,
        input: `${JSON.stringify(credentials)}\n`,
        redact: [client_secret, Buffer.from(client_secret).toString('base64')],
      })
    },
  }
}
