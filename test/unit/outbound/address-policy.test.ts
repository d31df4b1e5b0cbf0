import { describe, expect, it } from '@jest/globals'
import { createAddressPolicy } from '../../../src/outbound/address-policy.ts'

/** One address of each range that is not globally reachable, by what it is (IANA's special-purpose registries, RFC 6890). */
const SPECIAL = {
  'this network': ['0.0.0.0', '0.255.255.255'],
  'private use': ['10.0.0.1', '10.255.255.255', '172.16.0.1', '172.31.255.255', '192.168.0.1', '192.168.255.255'],
  'shared by carriers': ['100.64.0.1', '100.100.100.200', '100.127.255.255'],
  loopback: ['127.0.0.1', '127.1.2.3', '127.255.255.255', '::1'],
  'link-local, with metadata services': ['169.254.0.1', '169.254.169.254', 'fe80::1', 'fe80::1%lo', 'febf::1'],
  'protocol assignments': ['192.0.0.1', '192.0.0.192', '2001::1', '2001:1ff::1', '64:ff9b:1::1'],
  documentation: ['192.0.2.1', '198.51.100.1', '203.0.113.1', '2001:db8::1', '3fff::1'],
  benchmarks: ['198.18.0.1', '198.19.255.255', '2001:2::1'],
  'AS112, AMT and 6to4': [
    '192.31.196.1',
    '192.52.193.1',
    '192.88.99.1',
    '192.175.48.1',
    '2620:4f:8000::1',
    '2002:808:808::1',
  ],
  multicast: ['224.0.0.1', '239.255.255.255', 'ff02::1'],
  'reserved, broadcast and unspecified': [
    '240.0.0.1',
    '255.255.255.255',
    '::',
    '::1.2.3.4',
    '100::1',
    '5f00::1',
    '4000::1',
  ],
  'unique local': ['fc00::1', 'fd00:ec2::254', 'fdff::1', 'fec0::1'],
  'the service of a cloud at a public address': ['168.63.129.16'],
  'mapped to IPv6': ['::ffff:127.0.0.1', '::ffff:7f00:1', '0:0:0:0:0:ffff:a9fe:a9fe', '::ffff:10.0.0.1'],
  'behind NAT64': ['64:ff9b::127.0.0.1', '64:ff9b::a9fe:a9fe', '64:ff9b::'],
}

describe('the addresses that keys may be fetched from', () => {
  const allows = createAddressPolicy([])

  it.each(Object.entries(SPECIAL))('are none that is special: %s', (_, addresses) => {
    expect(addresses.filter(allows)).toEqual([])
  })

  it('are those that are globally reachable, mapped and translated ones too', () => {
    const addresses = [
      '8.8.8.8',
      '1.1.1.1',
      '100.128.0.1',
      '172.32.0.1',
      '192.0.1.1',
      '223.255.255.255',
      '2606:4700::1111',
      '2a00::1',
      '::ffff:8.8.8.8',
      '64:ff9b::8.8.8.8',
    ]
    expect(addresses.filter((address) => !allows(address))).toEqual([])
  })

  it('are those that are listed, one by one or by network, in each spelling', () => {
    const listed = createAddressPolicy(['10.1.0.0/16', '127.0.0.1', '::1', 'fd00::/8', '64:ff9b::a02:0/112'])
    const addresses = [
      '10.1.2.3',
      '::ffff:10.1.2.3',
      '64:ff9b::10.1.2.3',
      '127.0.0.1',
      '::1',
      '0:0:0:0:0:0:0:1',
      'fd12::1',
      '64:ff9b::10.2.0.1',
    ]
    expect(addresses.filter((address) => !listed(address))).toEqual([])
    expect(['10.2.0.1', '127.0.0.2', 'fc00::1', '::2', '64:ff9b::10.3.0.1'].filter(listed)).toEqual([])
  })

  it('are no names and no other spellings of addresses', () => {
    for (const text of ['', 'localhost', '8.8.8', '010.8.8.8', '0x08080808', '134744072', '8.8.8.8/32', '[::1]'])
      expect(createAddressPolicy(['0.0.0.0/0', '::/0'])(text)).toBe(false)
  })
})
