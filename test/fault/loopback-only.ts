/**
 * To be imported by a process under test before anything else (`--import`): its connections to other hosts than this one fail, and no name
 * is looked up for them.
 */
import { isIPv4, Socket } from 'node:net'

const { connect } = Socket.prototype

Socket.prototype.connect = function (this: Socket, ...args: unknown[]): Socket {
  const { host, path } = optionsOf(args)
  if (path || isLoopback(host)) return Reflect.apply(connect, this, args)
  process.nextTick(() => this.destroy(Object.assign(new Error('connect ENETUNREACH'), { code: 'ENETUNREACH' })))
  return this
}

interface Target {
  readonly host?: string | null
  readonly path?: string | null
}

/** Of a call by a program, or by `net.connect`, which passes its arguments on as an array. */
function optionsOf([first, second]: readonly unknown[]): Target {
  if (Array.isArray(first)) return optionsOf(first)
  if (typeof first === 'object' && first !== null) return first
  if (typeof first === 'string' && Number.isNaN(Number(first))) return { path: first }
  return typeof second === 'string' ? { host: second } : {}
}

function isLoopback(name: string | null | undefined): boolean {
  const host = name ?? 'localhost'
  return host === 'localhost' || host === '::1' || (isIPv4(host) && host.startsWith('127.'))
}
