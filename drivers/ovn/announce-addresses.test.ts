import { expect, test } from 'vitest'
import { announcementOf } from './announce-addresses.ts'

const ADDRESS = { networkId: '', address: '203.0.113.20', mac: 'fa:16:3e:01:00:20' }
/** Hardware Ethernet, protocol IPv4, a request: the address asks for itself. */
const REQUEST =
  '0001' + '0800' + '0604' + '0001' + 'fa163e010020' + 'cb007114' + '000000000000' + 'cb007114'

test.each([
  [null, `ffffffffffff${'fa163e010020'}0806${REQUEST}`],
  [7, `ffffffffffff${'fa163e010020'}8100${'0007'}0806${REQUEST}`],
  [4094, `ffffffffffff${'fa163e010020'}8100${'0ffe'}0806${REQUEST}`],
])('in VLAN %s it is an ARP request to all, of the least length', (vlan, bytes) => {
  const frame = announcementOf({ ...ADDRESS, vlan }).toString('hex')

  expect(frame).toBe(bytes.padEnd(60 * 2, '0'))
})
