/**
 * Which addresses Keyturn connects to when another party decides about the address: an administrator by a URL, an issuer by its discovery
 * document, or the DNS servers of its domain by their answers. Those that are globally reachable, and those that the operator lists.
 *
 * The special-purpose addresses are those of IANA's registries (RFC 6890) in November 2026. Of IPv6 only the global unicast addresses
 * in use (2000::/3) are taken to be globally reachable, so what is assigned later is refused.
 */
import { BlockList, isIP } from 'node:net'

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
]

const NAT64 = '64:ff9b::'

/**
 * An IPv4 address is judged as such also where an IPv6 address is mapped to it (RFC 4291 §2.5.5.2) or translated to it by NAT64 (RFC 6052).
 *
 * @param networks Those that the operator lists: IP addresses and networks (CIDR), valid ones.
 */
export function createAddressPolicy(networks: readonly string[]): AddressPolicy {
  const listed = listOf(networks)
  const special = listOf(SPECIAL)
  const addressable = listOf(['0.0.0.0/0', '2000::/3'])
  return (text) => {
    const address = withoutZone(text)
    const family = isIP(address) === 4 ? 'ipv4' : 'ipv6'
    if (isIP(address) === 0) return false
    return listed.check(address, family) || (addressable.check(address, family) && !special.check(address, family))
  }
}

/** A list that compares mapped addresses with networks of IPv4 by itself. */
function listOf(networks: readonly string[]): BlockList {
  const list = new BlockList()
  for (const network of networks) {
    const [address = '', prefix] = network.split('/', 2)
    if (isIP(address) === 4) {
      const length = Number(prefix ?? 32)
      list.addSubnet(address, length, 'ipv4')
      list.addSubnet(NAT64 + address, 96 + length, 'ipv6')
    } else {
      list.addSubnet(withoutZone(address), Number(prefix ?? 128), 'ipv6')
    }
  }
  return list
}

/** A zone (`%eth0`) does not matter: link-local addresses are refused unless they are listed. */
function withoutZone(address: string): string {
  return address.split('%', 1)[0] ?? ''
}
