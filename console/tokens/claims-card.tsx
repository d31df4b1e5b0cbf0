/**
 * What a token says: its claims and its header.
 */
import { formatDistance, formatExactly, isMoment } from '../format/moment.ts'
import { now } from '../live/clock.ts'
import { type DecodedToken, textOf } from './decoded-token.ts'

const MOMENTS = ['exp', 'iat', 'nbf', 'auth_time']

export function ClaimsCard({ token: { header, claims } }: { readonly token: DecodedToken }) {
  return (
    <section class="card" aria-labelledby="claims-title">
      <div class="two-columns">
        <div>
          <h2 id="claims-title">Claims</h2>
          <Members of={claims} />
        </div>
        <div>
          <h2>Header</h2>
          <Members of={header} />
        </div>
      </div>
    </section>
  )
}

function Members({ of: members }: { readonly of: Readonly<Record<string, unknown>> }) {
  return (
    <dl class="facts claims">
      {Object.entries(members).map(([name, value]) => (
        <div key={name}>
          <dt>
            <code>{name}</code>
          </dt>
          <dd>
            {MOMENTS.includes(name) && typeof value === 'number' && isMoment(value * 1000) ? (
              <>
                {formatExactly(value * 1000)} <span class="quiet">({formatDistance(value * 1000, now.value)})</span>
              </>
            ) : (
              <code>{textOf(value)}</code>
            )}
          </dd>
        </div>
      ))}
    </dl>
  )
}
