/**
 * `keyturn keys delete`, which warns about a key whose tokens may still be in use.
 */
import { timestampDate, timestampFromDate } from '@bufbuild/protobuf/wkt'
import type { Transport } from '@connectrpc/connect'
import { ServiceUserService } from '../../../gen/iam/user/v2/service_user_service_pb.js'
import type { WebKey } from '../../../gen/iam/webkey/v2/web_key_pb.js'
import { WebKeyService } from '../../../gen/iam/webkey/v2/web_key_service_pb.js'
import { call, invoke } from '../api-command.ts'
import { confirm, type YesOption, yesOption } from '../confirm.ts'
import { findTarget, type Target } from '../connection/target.ts'
import type { Io } from '../io.ts'
import type { RemoteOptions } from '../options.ts'
import { printWarnings } from '../output.ts'
import { formatMoment } from '../table.ts'
import { API_SCOPE, requestTokenOf } from '../token-request.ts'

/** The greatest lifetime of a token that a server can be configured with, in seconds. */
const GREATEST_LIFETIME = 86_400

const { method: Methods } = WebKeyService

/** The command. */
export const deleteKeyCommand = call({
  name: 'delete',
  description: 'Delete an inactive key. Tokens that it signed stop being valid.',
  takes: { keyId: {} },
  options: [yesOption()],
  method: Methods.deleteWebKey,
  async warn({ keyId }, { io, api, options }: { io: Io; api: Transport; options: RemoteOptions & YesOption }) {
    // The deletion itself says what is wrong.
    const { webKey } = await invoke(api, Methods.getWebKey, { keyId }).catch(() => ({ webKey: undefined }))
    const until = tokensLiveUntil(webKey, await longestLifetime(api, await findTarget(io, options)))
    if (until !== undefined && until.getTime() > Date.now()) {
      const moment = formatMoment(timestampFromDate(until))
      printWarnings(io, [`tokens that the key signed may be in use until ${moment}: without it verifiers refuse them`])
    }
    await confirm(io, options, `Delete the key ${keyId}?`)
    return []
  },
  text: (_, { keyId }) => `deleted ${keyId}`,
})

/** The longest lifetime of a token: that of the caller's, unless the caller has one of its own, which says nothing about others. */
async function longestLifetime(api: Transport, target: Target): Promise<number> {
  if ('personal_access_token' in target) return GREATEST_LIFETIME
  const [userId = ''] = target.client_id.split('@')
  const { serviceUser } = await invoke(api, ServiceUserService.method.getServiceUser, { userId }).catch(() => ({
    serviceUser: undefined,
  }))
  if (serviceUser === undefined || serviceUser.tokenLifetime !== undefined) return GREATEST_LIFETIME
  return (await requestTokenOf(target, API_SCOPE)).expires_in
}

/** When the last token expires that the key has signed. Undefined if it has signed none, or signs now. */
function tokensLiveUntil(key: WebKey | undefined, lifetimeSeconds: number): Date | undefined {
  if (key?.deactivationDate === undefined || key.revocationDate !== undefined) return undefined
  return new Date(timestampDate(key.deactivationDate).getTime() + lifetimeSeconds * 1000)
}
