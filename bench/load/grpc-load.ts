/**
 * Load over gRPC: unary calls with an empty request, on HTTP/2 streams made by hand, which is less work than a client.
 */
import { type ClientHttp2Session, connect } from 'node:http2'
import { setTimeout as delay } from 'node:timers/promises'
import type { GrpcJob, Measurement } from './job.ts'
import { Window } from './window.ts'

/** An uncompressed message of no bytes. */
const EMPTY_MESSAGE = Buffer.alloc(5)

/** Runs a job. */
export async function runGrpcLoad(job: GrpcJob): Promise<Measurement> {
  const window = new Window(job.pids)
  const sessions = Array.from({ length: job.sessions }, () => connect(job.url))
  for (const session of sessions) session.on('error', (error) => window.failed(error.message))
  const ending = new AbortController()
  const loops = Array.from({ length: job.concurrency }, async (_, index) => {
    const session = sessions[index % sessions.length]
    while (session !== undefined && !ending.signal.aborted) await call(session, job, window)
  })
  await delay(job.warmUpSeconds * 1000)
  window.open()
  await delay(job.seconds * 1000)
  const measured = window.close()
  ending.abort()
  await Promise.all(loops)
  for (const session of sessions) session.close()
  return measured
}

async function call(session: ClientHttp2Session, job: GrpcJob, window: Window): Promise<void> {
  const startedAt = performance.now()
  const failure = await new Promise<string | null>((resolve) => {
    const stream = session.request({
      ':method': 'POST',
      ':path': job.path,
      'content-type': 'application/grpc',
      te: 'trailers',
      authorization: job.authorization,
    })
    let status: unknown
    stream.on('response', (headers) => {
      status = headers['grpc-status']
    })
    stream.on('trailers', (trailers) => {
      status = trailers['grpc-status']
    })
    stream.on('error', (error) => resolve(error.message))
    stream.on('close', () => resolve(status === '0' ? null : `grpc-status ${status}`))
    stream.resume()
    stream.end(EMPTY_MESSAGE)
  })
  if (failure === null) window.answered(performance.now() - startedAt)
  else {
    window.failed(failure)
    await delay(10)
  }
}
