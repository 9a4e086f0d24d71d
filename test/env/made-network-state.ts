import { ROUTER_GATEWAY, ROUTER_INTERFACE } from '#drivers/ovn/northbound/network-index.ts'
import { METADATA_PORT_OWNER } from '#openapi/wire/metadata-port.ts'
import type { NetworkState, WirePort, WireSubnet } from '#openapi/wire/network.ts'
import {
  EMPTY_STATE,
  wireFloatingIp,
  wireGroup,
  wireNetwork,
  wirePort,
  wireRouter,
  wireRule,
  wireSubnet,
} from './network-state.ts'
import { SeededRandom } from './random.ts'

type Random = () => number

function randomOf(seed: number): Random {
  const random = new SeededRandom(seed)
  return () => random.next()
}

/** Networks, ports, groups, routers and floating IPs, of every kind there is: some of each, by chance. */
export function madeState(seed: number): NetworkState {
  const random = randomOf(seed)
  const chance = (of: number) => random() < of
  const several = <T>(max: number, make: (index: number) => T): T[] =>
    Array.from({ length: Math.floor(random() * (max + 1)) }, (_, index) => make(index))
  const outside = wireNetwork({
    isExternal: true,
    physicalNetwork: 'physnet',
    vlan: chance(0.5) ? 7 : null,
  })
  const publicSubnet = wireSubnet(outside, '203.0.113.0/24', {
    gateway: '203.0.113.1',
    hasDhcp: false,
  })
  const tenants = several(4, () => wireNetwork({ dnsDomain: chance(0.5) ? 'example.org' : '' }))
  const subnets = tenants.flatMap((network, index) => [
    wireSubnet(network, `10.${index}.0.0/24`, {
      gateway: chance(0.8) ? `10.${index}.0.1` : null,
      hasDhcp: chance(0.8),
      dnsServers: several(2, (nth) => `192.0.2.${nth}`),
      hostRoutes: several(1, () => ({
        destination: '198.51.100.0/24',
        nexthop: `10.${index}.0.9`,
      })),
    }),
    ...several(1, () =>
      wireSubnet(network, `fd00:${index}::/64`, {
        gateway: `fd00:${index}::1`,
        ipv6AddressMode: chance(0.5) ? 'slaac' : 'dhcpv6-stateful',
        ipv6RaMode: chance(0.5) ? 'slaac' : 'dhcpv6-stateful',
      }),
    ),
  ])
  const groups = several(3, () => wireGroup())
  const someGroup = () => groups[Math.floor(random() * groups.length)]?.id ?? null
  for (const group of groups)
    group.rules.push(
      ...several(3, () =>
        wireRule({
          direction: chance(0.5) ? 'ingress' : 'egress',
          protocol: chance(0.5) ? 6 : null,
          portMin: chance(0.5) ? 80 : null,
          remoteGroupId: chance(0.3) ? someGroup() : null,
          remoteCidr: chance(0.3) ? '192.0.2.0/24' : null,
        }),
      ),
    )
  const guests = subnets.flatMap((subnet) =>
    several(3, (index) =>
      wirePort(subnet, addressIn(subnet, 10 + index), {
        dnsName: chance(0.4) ? `guest-${index}` : '',
        hasPortSecurity: chance(0.8),
        securityGroupIds: [someGroup()].filter((id) => id !== null),
        allowedPairs: several(2, (nth) => ({
          mac: chance(0.5) ? `fa:16:3e:99:00:0${nth}` : null,
          cidr: `192.0.2.${nth}`,
        })),
        dhcpOptions: several(1, () => ({ name: 'mtu', value: '1300', version: 4 as const })),
      }),
    ),
  )
  const metadata = subnets
    .filter(() => chance(0.5))
    .map((subnet) => wirePort(subnet, addressIn(subnet, 2), { deviceOwner: METADATA_PORT_OWNER }))
  const machines = several(2, (index) =>
    wirePort(publicSubnet, addressIn(publicSubnet, 200 + index), {
      ...{ isMachine: true, hostId: chance(0.7) ? 'one' : null },
    }),
  )
  const routed = several(2, () => madeRouter(random, publicSubnet, subnets, guests))
  return {
    ...EMPTY_STATE,
    networks: [outside, ...tenants],
    subnets: [publicSubnet, ...subnets],
    ports: [...guests, ...metadata, ...machines, ...routed.flatMap(({ ports }) => ports)],
    securityGroups: groups,
    routers: routed.map(({ router }) => router),
    floatingIps: routed.flatMap(({ floatingIps }) => floatingIps),
  }
}

function madeRouter(
  random: Random,
  publicSubnet: WireSubnet,
  subnets: readonly WireSubnet[],
  guests: readonly WirePort[],
) {
  const base = wireRouter()
  const ofRouter = { deviceId: base.id, hasPortSecurity: false }
  const interfaces = subnets
    .filter(() => random() < 0.5)
    .map((subnet) =>
      wirePort(subnet, addressIn(subnet, 1), { ...ofRouter, deviceOwner: ROUTER_INTERFACE }),
    )
  const gateway = wirePort(publicSubnet, addressIn(publicSubnet, 10 + Math.floor(random() * 90)), {
    ...ofRouter,
    deviceOwner: ROUTER_GATEWAY,
  })
  const router = {
    ...base,
    gateway: random() < 0.7 ? { portId: gateway.id, hasSnat: random() < 0.7 } : null,
    routes: random() < 0.5 ? [{ destination: '198.51.100.0/24', nexthop: '10.0.0.7' }] : [],
  }
  const floatingIps = guests
    .filter(() => router.gateway !== null && random() < 0.2)
    .map((port, index) =>
      wireFloatingIp({
        address: addressIn(publicSubnet, 100 + index),
        networkId: publicSubnet.networkId,
        routerId: router.id,
        portId: port.id,
        fixedAddress: port.fixedIps[0]!.address,
      }),
    )
  return { router, ports: [...interfaces, gateway], floatingIps }
}

function addressIn({ cidr }: WireSubnet, last: number): string {
  const [network = ''] = cidr.split('/')
  return network.endsWith('::') ? `${network}${last}` : network.replace(/\d+$/, String(last))
}

/** The state after some of its objects went, and some changed. */
export function changedState(state: NetworkState, seed: number): NetworkState {
  const random = randomOf(seed + 500)
  const some = <T extends { revision: number }>(list: readonly T[], change: (each: T) => T): T[] =>
    list
      .filter(() => random() < 0.8)
      .map((each) => (random() < 0.5 ? { ...change(each), revision: each.revision + 1 } : each))
  return {
    ...state,
    networks: some(state.networks, (each) => ({ ...each, mtu: 1400, dnsDomain: 'other.example' })),
    subnets: some(state.subnets, (each) => ({ ...each, hasDhcp: !each.hasDhcp })),
    ports: some(state.ports, (each) => ({ ...each, isUp: !each.isUp, securityGroupIds: [] })),
    securityGroups: some(state.securityGroups, (each) => ({
      ...each,
      rules: each.rules.slice(1),
    })),
    routers: some(state.routers, (each) => ({ ...each, routes: [], isUp: !each.isUp })),
    floatingIps: some(state.floatingIps, (each) => ({ ...each, fixedAddress: '10.0.0.250' })),
  }
}
