/**
 * The IP address of a request's client, also behind trusted proxies.
 *
 * Every client can send `X-Forwarded-For`. Each proxy appends the address of its peer, so the header is read from right to left,
 * and only as far as trusted proxies have written it.
 */
import { BlockList, isIP, isIPv4 } from 'node:net'

/** The most entries that are read. */
const MAX_HOPS = 20

/** Returns the address of the client. @param peer The address of the connection. @param forwardedFor `X-Forwarded-For`. */
export type AddressReader = (peer: string | undefined, forwardedFor: string | undefined) => string

/** @param trustedProxies IP addresses and networks (CIDR). The header of any other peer is ignored. */
export function createAddressReader(trustedProxies: readonly string[]): AddressReader {
  if (trustedProxies.length === 0) return (peer) => withoutMapping(peer ?? '')
  const trusted = toBlockList(trustedProxies)
  return (peer, forwardedFor) => walk(withoutMapping(peer ?? ''), forwardedFor ?? '', trusted)
}

/** Returns whether the peer of a connection is a trusted proxy. @param trustedProxies As for `createAddressReader`. */
export function createPeerCheck(trustedProxies: readonly string[]): (peer: string) => boolean {
  const trusted = toBlockList(trustedProxies)
  return (peer) => isTrusted(withoutMapping(peer), trusted)
}

function walk(peer: string, forwardedFor: string, trusted: BlockList): string {
  let address = peer
  let end = forwardedFor.length
  for (let hop = 0; hop < MAX_HOPS && end > 0 && isTrusted(address, trusted); hop += 1) {
    const start = forwardedFor.lastIndexOf(',', end - 1) + 1
    const entry = withoutMapping(forwardedFor.slice(start, end).trim())
    // The trusted proxy did not write an address, so nothing to the left can be trusted.
    if (isIP(entry) === 0) break
    address = entry
    end = start - 1
  }
  return address
}

function isTrusted(address: string, trusted: BlockList): boolean {
  const version = isIP(address)
  return version !== 0 && trusted.check(withoutZone(address), version === 4 ? 'ipv4' : 'ipv6')
}

function toBlockList(networks: readonly string[]): BlockList {
  const list = new BlockList()
  for (const network of networks) {
    const [address = '', prefix] = network.split('/', 2)
    const family = isIPv4(address) ? 'ipv4' : 'ipv6'
    if (prefix === undefined) list.addAddress(withoutZone(address), family)
    else list.addSubnet(withoutZone(address), Number(prefix), family)
  }
  return list
}

/** An IPv4 client of an IPv6 socket as IPv4 (RFC 4291 §2.5.5.2), in the spelling of Node's sockets. */
function withoutMapping(address: string): string {
  return /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1] ?? address
}

function withoutZone(address: string): string {
  return address.split('%', 1)[0] ?? ''
}
