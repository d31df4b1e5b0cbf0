/**
 * Says that the server or its database cannot be reached, and how old is what is shown.
 */
import { formatLength } from '../format/moment.ts'
import { sentence } from '../parts/notice.tsx'
import { now } from './clock.ts'
import { heardAt, instance, outage } from './instance.ts'

export function OutageBanner() {
  const failure = outage.value
  // The time that passes is that of this machine: the server cannot be asked.
  const age = now.value > 0 ? Date.now() - heardAt.value : 0
  if (failure === undefined) return <NotReady />
  return (
    <div class="banner" role="alert">
      {sentence(failure.message)} {heardAt.value > 0 && `What is shown is ${formatLength(age)} old.`}
    </div>
  )
}

/** The replica answers, and says that it cannot serve. */
function NotReady() {
  const replica = instance.value?.replica
  if (replica === undefined || replica.ready) return null
  return (
    <div class="banner" role="alert">
      This replica is not ready: {sentence(replica.reason)}
    </div>
  )
}
