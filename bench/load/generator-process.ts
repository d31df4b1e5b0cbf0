/**
 * The load generator: a process that takes one job after the other from the one that has started it, and ends with it.
 */
import { runGrpcLoad } from './grpc-load.ts'
import { runHttpLoad } from './http-load.ts'
import type { Job, Measurement } from './job.ts'

/** How a job went. */
export type Outcome =
  | { readonly kind: 'measured'; readonly measurement: Measurement }
  | { readonly kind: 'failed'; readonly why: string }

process.on('message', (job: Job) => {
  run(job).then(
    (measurement) => answer({ kind: 'measured', measurement }),
    (error: unknown) => answer({ kind: 'failed', why: String(error) }),
  )
})
process.on('disconnect', () => process.exit())
// Ctrl-C reaches all processes of a terminal; this one ends with the one that has started it.
process.on('SIGINT', () => {})

function run(job: Job): Promise<Measurement> {
  return job.kind === 'http' ? runHttpLoad(job) : runGrpcLoad(job)
}

function answer(outcome: Outcome): void {
  process.send?.(outcome)
}
