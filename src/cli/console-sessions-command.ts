/**
 * `keyturn console sessions` and `keyturn console end-session`: who is signed in at the console, and the end of that.
 */

import { create } from '@bufbuild/protobuf'
import { createClient } from '@connectrpc/connect'
import { Command } from 'commander'
import {
  ConsoleService,
  ListSessionsResponseSchema,
  RevokeSessionResponseSchema,
  type Session,
} from '../../gen/iam/console/v2/console_service_pb.js'
import { openApi } from './api-client.ts'
import type { Io } from './io.ts'
import { type RemoteOptions, withRemoteOptions } from './options.ts'
import { everyItemOf } from './pages.ts'
import { print } from './print.ts'
import { formatMoment, formatTable } from './table.ts'

/** The command that lists them. */
export function sessionsCommand(io: Io): Command {
  return withRemoteOptions(new Command('sessions'))
    .description('List the sessions of the console.')
    .action(async (options: RemoteOptions) => {
      const client = createClient(ConsoleService, await openApi(io, options))
      const sessions = await everyItemOf(
        (page) => client.listSessions(page),
        (response) => response.sessions,
      )
      print(io, options, ListSessionsResponseSchema, create(ListSessionsResponseSchema, { sessions }), (heading) =>
        formatTable(['SESSION', 'USER', 'SINCE', 'LAST USE', 'UNTIL', 'ADDRESS'], sessions.map(row), heading),
      )
    })
}

/** The command that ends one. */
export function endSessionCommand(io: Io): Command {
  return withRemoteOptions(new Command('end-session'))
    .description('End a session of the console.')
    .argument('<session>', 'the id, as "keyturn console sessions" has it')
    .action(async (sessionId: string, options: RemoteOptions) => {
      const response = await createClient(ConsoleService, await openApi(io, options)).revokeSession({ sessionId })
      print(io, options, RevokeSessionResponseSchema, response, () => 'the session has ended')
    })
}

function row(session: Session): string[] {
  const { sessionId, userId, creationDate, lastUseDate, expirationDate, clientAddress, unreadable } = session
  if (unreadable) return [sessionId, 'unreadable']
  const dates = [creationDate, lastUseDate, expirationDate].map((date) =>
    date === undefined ? '' : formatMoment(date),
  )
  return [sessionId, userId, ...dates, clientAddress]
}
