import { expect, test } from 'vitest'
import {
  EMPTY_STATE,
  wireFloatingIp,
  wireNetwork,
  wirePort,
  wireRouter,
  wireSubnet,
} from '#test/env/network-state.ts'
import { AddressPlaces } from './moved-addresses.ts'
import { ROUTER_GATEWAY } from './northbound/network-index.ts'
import { host } from './northbound/testing.ts'
import { wantedRows } from './northbound/wanted-rows.ts'

const inside = wireNetwork()
const outside = wireNetwork({ isExternal: true, physicalNetwork: 'physnet', vlan: 7 })
const subnet = wireSubnet(inside, '10.0.0.0/24')
const outsideSubnet = wireSubnet(outside, '203.0.113.0/24')
const routerId = wireRouter().id
const gateway = wirePort(outsideSubnet, '203.0.113.9', {
  ...{ deviceId: routerId, deviceOwner: ROUTER_GATEWAY },
})
const [one, two] = [wirePort(subnet, '10.0.0.5'), wirePort(subnet, '10.0.0.6')]
const floating = wireFloatingIp({
  ...{ address: '203.0.113.20', networkId: outside.id, routerId },
  ...{ portId: one.id, fixedAddress: '10.0.0.5' },
})
const state = {
  ...EMPTY_STATE,
  networks: [inside, outside],
  subnets: [subnet, outsideSubnet],
  ports: [one, two, gateway],
  routers: [wireRouter({ id: routerId, gateway: { portId: gateway.id, hasSnat: true } })],
  floatingIps: [floating],
}
const announced = {
  ...{ networkId: outside.id, vlan: 7 },
  ...{ address: floating.address, mac: floating.mac },
}

function places() {
  const found = new AddressPlaces()
  const hosts = new Map([[one.id, 'here']])
  const hostOf = (portId: string) => hosts.get(portId)
  const put = (parts: Partial<typeof state> = {}, ovnHosts = [host('here'), host('there')]) => {
    const wanted = { ...state, ...parts }
    found.put(wantedRows(wanted, ovnHosts), wanted, hostOf)
    return found.moved(hostOf)
  }
  return { put, hosts, moved: () => found.moved(hostOf) }
}

test('a floating IP has moved when its port works on another host, and once', () => {
  const { put, hosts, moved } = places()

  expect(put(), 'it has been there').toEqual([])
  hosts.delete(one.id)
  expect(moved(), 'it works nowhere').toEqual([])
  hosts.set(one.id, 'here')
  expect(moved(), 'it is back').toEqual([])
  hosts.set(one.id, 'there')
  expect(moved()).toEqual([{ chassis: 'there', addresses: [announced] }])
  expect(moved()).toEqual([])
})

test('a floating IP has moved when it is given to a port on another host', () => {
  const { put, hosts } = places()
  hosts.set(two.id, 'there')

  expect(put()).toEqual([])
  expect(put({ floatingIps: [{ ...floating, portId: two.id, fixedAddress: '10.0.0.6' }] })).toEqual(
    [{ chassis: 'there', addresses: [announced] }],
  )
  expect(put({ floatingIps: [] })).toEqual([])
  expect(put(), 'where the site still sends its packets is not known').toEqual([
    { chassis: 'here', addresses: [announced] },
  ])
})

test('a floating IP for which a gateway answers does not move with its port', () => {
  const { put, hosts, moved } = places()
  const withoutBridge = { ...host('there'), physicalNetworks: [] }

  expect(put({}, [host('here'), withoutBridge])).toEqual([])
  hosts.set(one.id, 'there')
  expect(moved()).toEqual([])
})
