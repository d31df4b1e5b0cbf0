/**
 * Which addresses Keyturn connects to when another party decides about the address: an administrator by a URL, an issuer by its discovery
 * document, or the DNS servers of its domain by their answers. Those that are globally reachable, and those that the operator lists.
 *
 * The special-purpose addresses are those of IANA's registries (RFC 6890) in November 2026. Of IPv6 only the global unicast addresses
 * in use (2000::/3) are taken to be globally reachable, so what is assigned later is refused.
 */
import { isIP, SocketAddress } from 'node:net'

/** Whether Keyturn may connect to an IP address. */
export type AddressPolicy = (address: string) => boolean

/** Not globally reachable, or reachable and meant for another purpose than serving documents. */
const SPECIAL = [
  '0.0.0.0/8', // this network
  '10.0.0.0/8', // private use
  '100.64.0.0/10', // shared by carriers; the metadata service of a cloud is in it
  '127.0.0.0/8', // loopback
  '168.63.129.16/32', // not of a registry: the service that a cloud gives its virtual machines, at a public address
  '169.254.0.0/16', // link-local, and the metadata services of most clouds
  '172.16.0.0/12', // private use
  '192.0.0.0/24', // protocol assignments
  '192.0.2.0/24', // documentation
  '192.31.196.0/24', // AS112
  '192.52.193.0/24', // AMT
  '192.88.99.0/24', // 6to4 relays
  '192.168.0.0/16', // private use
  '192.175.48.0/24', // AS112
  '198.18.0.0/15', // benchmarks
  '198.51.100.0/24', // documentation
  '203.0.113.0/24', // documentation
  '224.0.0.0/4', // multicast
  '240.0.0.0/4', // reserved, and broadcast
  '2001::/23', // protocol assignments, such as Teredo
  '2001:db8::/32', // documentation
  '2002::/16', // 6to4, which names an IPv4 address
  '2620:4f:8000::/48', // AS112
  '3fff::/20', // documentation
].map(toNetwork)

const GLOBAL_UNICAST = toNetwork('2000::/3')

/** Each has an IPv4 address in its last 32 bits, which is what is connected to: mapped addresses (RFC 4291), and NAT64 (RFC 6052). */
const WITH_IPV4 = ['::ffff:0:0/96', '64:ff9b::/96'].map(toNetwork)

interface Address {
  readonly version: 4 | 6
  readonly bits: bigint
}

interface Network extends Address {
  readonly prefix: number
}

/** @param networks Those that the operator lists: IP addresses and networks (CIDR), valid ones. */
export function createAddressPolicy(networks: readonly string[]): AddressPolicy {
  const listed = networks.map(toNetwork)
  const isListed = (address: Address) => listed.some((network) => contains(network, address))
  return (text) => {
    if (isIP(text) === 0) return false
    const given = toAddress(text)
    const address = embeddedIpv4(given) ?? given
    return isListed(given) || isListed(address) || isGloballyReachable(address)
  }
}

function isGloballyReachable(address: Address): boolean {
  if (SPECIAL.some((network) => contains(network, address))) return false
  return address.version === 4 || contains(GLOBAL_UNICAST, address)
}

function embeddedIpv4(address: Address): Address | undefined {
  if (!WITH_IPV4.some((network) => contains(network, address))) return undefined
  return { version: 4, bits: address.bits & 0xffff_ffffn }
}

function contains(network: Network, { version, bits }: Address): boolean {
  const rest = BigInt(widthOf(network) - network.prefix)
  return version === network.version && bits >> rest === network.bits >> rest
}

function toNetwork(text: string): Network {
  const [address = '', prefix] = text.split('/', 2)
  const parsed = toAddress(address)
  return { ...parsed, prefix: prefix === undefined ? widthOf(parsed) : Number(prefix) }
}

function widthOf({ version }: Address): number {
  return version === 4 ? 32 : 128
}

/** @param text An IP address. A zone (`%eth0`) does not matter: link-local addresses are refused unless they are listed. */
function toAddress(text: string): Address {
  const [address = ''] = text.split('%', 1)
  if (isIP(address) === 4) return { version: 4, bits: ipv4Bits(address) }
  return { version: 6, bits: ipv6Bits(new SocketAddress({ address, family: 'ipv6' }).address) }
}

function ipv4Bits(address: string): bigint {
  return address.split('.').reduce((bits, octet) => (bits << 8n) | BigInt(octet), 0n)
}

/** @param address In the spelling of `inet_ntop`: at most one `::`, and perhaps an IPv4 address at the end. */
function ipv6Bits(address: string): bigint {
  const groups = address.replace(/\d+\.\d+\.\d+\.\d+$/, (tail) => {
    const bits = ipv4Bits(tail)
    return `${(bits >> 16n).toString(16)}:${(bits & 0xffffn).toString(16)}`
  })
  const [left = [], right = []] = groups.split('::').map((part) => part.split(':').filter((group) => group !== ''))
  const zeros = Array.from({ length: 8 - left.length - right.length }, () => '0')
  return [...left, ...zeros, ...right].reduce((bits, group) => (bits << 16n) | BigInt(`0x${group}`), 0n)
}
