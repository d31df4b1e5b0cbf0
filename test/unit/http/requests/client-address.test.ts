import { describe, expect, it } from '@jest/globals'
import { createAddressReader, createPeerCheck } from '../../../../src/http/requests/client-address.ts'

const CLIENT = '203.0.113.7'

describe('the address of a client', () => {
  const read = createAddressReader(['10.0.0.0/8', '192.168.1.1', 'fd00::/8', '2001:db8::1'])

  it('is that of the peer if no proxy is trusted, whatever the header', () => {
    const readPeer = createAddressReader([])
    expect(readPeer(CLIENT, '198.51.100.1')).toBe(CLIENT)
    expect(readPeer(`::ffff:${CLIENT}`, undefined)).toBe(CLIENT)
    expect(readPeer(undefined, '198.51.100.1')).toBe('')
  })

  it('is that of a peer that is not a trusted proxy', () => {
    expect(read(CLIENT, '198.51.100.1')).toBe(CLIENT)
    expect(read('192.168.1.2', '198.51.100.1')).toBe('192.168.1.2')
    expect(read('2001:db8::2', '198.51.100.1')).toBe('2001:db8::2')
    expect(read(undefined, '198.51.100.1')).toBe('')
  })

  it.each([
    '10.1.2.3',
    '::ffff:10.1.2.3',
    '::FFFF:192.168.1.1',
    '192.168.1.1',
    'fd12::1',
    'fd12::1%eth0',
    '2001:db8::1',
  ])('is the header of the trusted proxy %s', (peer) => {
    expect(read(peer, CLIENT)).toBe(CLIENT)
  })

  it('is the last one that is not a trusted proxy', () => {
    expect(read('10.0.0.1', `${CLIENT}, 10.0.0.2, 10.0.0.3`)).toBe(CLIENT)
    expect(read('10.0.0.1', `10.0.0.9, ${CLIENT},10.0.0.2`)).toBe(CLIENT)
    expect(read('10.0.0.1', `198.51.100.1, ${CLIENT}`)).toBe(CLIENT)
    expect(read('10.0.0.1', `::ffff:${CLIENT}`)).toBe(CLIENT)
    expect(read('10.0.0.1', '2001:db8::7')).toBe('2001:db8::7')
  })

  it.each([
    ['unknown', '10.0.0.1'],
    [`${CLIENT}, unknown`, '10.0.0.1'],
    [`${CLIENT}, 10.0.0.256, 10.0.0.2`, '10.0.0.2'],
    [`${CLIENT},, 10.0.0.2`, '10.0.0.2'],
    [`${CLIENT}, 10.0.0.2,`, '10.0.0.1'],
    [`${CLIENT}:8080`, '10.0.0.1'],
    [`${CLIENT}\u0000`, '10.0.0.1'],
    ['1'.repeat(10_000), '10.0.0.1'],
  ])('is the last one after an entry that is not an address: %j', (header, expected) => {
    expect(read('10.0.0.1', header)).toBe(expected)
  })
})

describe('a peer', () => {
  it.each<[string, boolean]>([
    ['10.1.2.3', true],
    ['::ffff:10.1.2.3', true],
    ['::ffff:a01:203', true],
    ['fd00::1', true],
    ['fd00::1%eth0', true],
    ['11.1.2.3', false],
    ['::1', false],
    ['', false],
    ['10.1.2.3, 11.1.2.3', false],
  ])('%s is a trusted proxy: %s', (peer, trusted) => {
    expect(createPeerCheck(['10.0.0.0/8', 'fd00::/8'])(peer)).toBe(trusted)
    expect(createPeerCheck([])(peer)).toBe(false)
  })
})
