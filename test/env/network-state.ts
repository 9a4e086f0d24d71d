import { newId } from '#common/ids.ts'
import type {
  NetworkState,
  WireFloatingIp,
  WireNetwork,
  WirePort,
  WireRouter,
  WireRule,
  WireSecurityGroup,
  WireSubnet,
} from '#openapi/wire/network.ts'

/** Keys and MAC addresses that no other object has. */
let made = 0

export const EMPTY_STATE: NetworkState = {
  networks: [],
  subnets: [],
  ports: [],
  securityGroups: [],
  routers: [],
  floatingIps: [],
  remoteHosts: [],
}

export function wireNetwork(overrides: Partial<WireNetwork> = {}): WireNetwork {
  made += 1
  return {
    id: newId(),
    revision: 1,
    name: 'a "network"',
    projectId: newId(),
    isUp: true,
    isExternal: false,
    mtu: 1442,
    tunnelKey: 1_000 + made,
    physicalNetwork: null,
    vlan: null,
    dnsDomain: '',
    ...overrides,
  }
}

export function wireSubnet(
  network: Pick<WireNetwork, 'id'>,
  cidr: string,
  overrides: Partial<WireSubnet> = {},
): WireSubnet {
  return {
    id: newId(),
    revision: 1,
    networkId: network.id,
    cidr,
    gateway: null,
    hasDhcp: true,
    dnsServers: [],
    hostRoutes: [],
    ipv6AddressMode: null,
    ipv6RaMode: null,
    ...overrides,
  }
}

/** A port with one address of the subnet. */
export function wirePort(
  subnet: Pick<WireSubnet, 'id' | 'networkId'>,
  address: string,
  overrides: Partial<WirePort> = {},
): WirePort {
  made += 1
  const hex = made.toString(16).padStart(4, '0')
  return {
    id: newId(),
    revision: 1,
    networkId: subnet.networkId,
    projectId: newId(),
    name: '',
    tunnelKey: made,
    mac: `fa:16:3e:00:${hex.slice(0, 2)}:${hex.slice(2)}`,
    fixedIps: [{ subnetId: subnet.id, address }],
    allowedPairs: [],
    hasPortSecurity: true,
    securityGroupIds: [],
    isUp: true,
    dnsName: '',
    dhcpOptions: [],
    deviceOwner: 'compute:nova',
    deviceId: newId(),
    hostId: null,
    remoteHostId: null,
    ...overrides,
  }
}

export function wireRule(overrides: Partial<WireRule> = {}): WireRule {
  return {
    id: newId(),
    direction: 'ingress',
    version: 4,
    protocol: null,
    portMin: null,
    portMax: null,
    remoteCidr: null,
    remoteGroupId: null,
    ...overrides,
  }
}

export function wireGroup(...rules: readonly WireRule[]): WireSecurityGroup {
  return { id: newId(), revision: 1, name: 'group', rules: [...rules] }
}

export function wireRouter(overrides: Partial<WireRouter> = {}): WireRouter {
  return {
    id: newId(),
    revision: 1,
    name: 'r',
    isUp: true,
    gateway: null,
    routes: [],
    ...overrides,
  }
}

export function wireFloatingIp(
  overrides: Partial<WireFloatingIp> & Pick<WireFloatingIp, 'address' | 'networkId'>,
): WireFloatingIp {
  made += 1
  return {
    id: newId(),
    revision: 1,
    mac: `fa:16:3e:01:00:${(made % 256).toString(16).padStart(2, '0')}`,
    routerId: newId(),
    portId: newId(),
    fixedAddress: '10.0.0.2',
    ...overrides,
  }
}
