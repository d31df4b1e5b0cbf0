/**
 * Whose request it is, by IP address, also when it comes through a proxy.
 *
 * Anybody can send `X-Forwarded-For`. It is read from right to left, each entry being believed only as far as the one who
 * added it is a proxy that the operator trusts.
 */
import { BlockList, isIP, isIPv4, SocketAddress } from 'node:net'

/** Entries that are looked at. No deployment has so many proxies behind each other. */
const MAX_HOPS = 20

const MAPPED = '::ffff:'

/** Tells the address of the client from that of the peer and from what the peer says about others. */
export type AddressReader = (peer: string | undefined, forwardedFor: string | undefined) => string

/**
 * Makes a reader.
 *
 * @param trustedProxies IP addresses and networks (CIDR). From anybody else the header is not looked at.
 */
export function createAddressReader(trustedProxies: readonly string[]): AddressReader {
  if (trustedProxies.length === 0) return (peer) => withoutMapping(peer ?? '')
  const trusted = toBlockList(trustedProxies)
  return (peer, forwardedFor) => walk(withoutMapping(peer ?? ''), forwardedFor ?? '', trusted)
}

function walk(peer: string, forwardedFor: string, trusted: BlockList): string {
  let address = peer
  let end = forwardedFor.length
  for (let hop = 0; hop < MAX_HOPS && end > 0 && isTrusted(address, trusted); hop += 1) {
    const start = forwardedFor.lastIndexOf(',', end - 1) + 1
    const entry = withoutMapping(forwardedFor.slice(start, end).trim())
    // What is further to the left came through somebody who wrote this.
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

/**
 * An IPv4 address that is mapped into IPv6 as what it is (RFC 4291 §2.5.5.2), however it is written: a socket that listens for
 * IPv6 sees clients of IPv4 as `::ffff:192.0.2.1`, and proxies may write `::ffff:c000:201`.
 */
function withoutMapping(address: string): string {
  if (!/^[0:]+:ffff:/i.test(address) || isIP(address) !== 6) return address
  const canonical = new SocketAddress({ address: withoutZone(address), family: 'ipv6' }).address
  const inner = canonical.slice(MAPPED.length)
  return canonical.startsWith(MAPPED) && isIPv4(inner) ? inner : address
}

function withoutZone(address: string): string {
  return address.split('%', 1)[0] ?? ''
}
