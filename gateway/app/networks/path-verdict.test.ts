import { expect, test } from 'vitest'
import type { CellId } from '#common/ids.ts'
import type { Network, Port, SecurityGroupRule, Subnet } from '../../db/network.ts'
import { type PathEnd, type PathFacts, type PathPort, pathChecks } from './path-verdict.ts'

type Rule = SecurityGroupRule

const BLUE = '10.1.0.0/24'
const RED = '10.2.0.0/24'
const TCP = 6

const network = (name: string, more: Partial<Network> = {}) =>
  ({ id: name, name, isUp: true, physicalNetwork: null, ...more }) as Network
const subnet = (cidr: string, more: Partial<Subnet> = {}) =>
  ({ id: cidr, cidr, gatewayIp: cidr.replace('0/24', '1'), ...more }) as Subnet

const cellOf = (name: string, transportZone: string | null = null) => ({
  ...{ id: name as CellId, name, transportZone },
  labels: {},
  taints: [],
  cannotTunnelTo: new Set<string>(),
})
const placeIn = (cellId: string) => ({
  isCloud: false,
  ...{ cellId, host: 'two', hasOvn: true, encapAddress: '10.9.0.2' },
  cell: cellOf(cellId),
})
function portOf(
  cidr: string,
  last: number,
  more: Partial<Omit<PathPort, 'port'>> & { readonly port?: object } = {},
): PathPort {
  const fixedAddress = cidr.replace('0/24', String(last))
  const { port, ...rest } = more
  return {
    fixedAddress,
    network: network(cidr === BLUE ? 'blue' : 'red'),
    subnet: subnet(cidr),
    place: { ...placeIn('north'), host: 'one', encapAddress: '10.9.0.1' },
    ...rest,
    port: {
      id: `port-${fixedAddress}`,
      isUp: true,
      status: 'ACTIVE',
      hasPortSecurity: true,
      fixedIps: [{ subnetId: cidr, address: fixedAddress }],
      floatingIps: [],
      securityGroupIds: ['open'],
      ...port,
    } as unknown as Port,
  }
}
const end = (port: PathPort, address = port.fixedAddress): PathEnd => ({ address, port })
const OUTSIDE: PathEnd = { address: '198.51.100.7', port: null }

const rule = (more: Partial<Rule>): Rule =>
  ({
    ...{ id: 'rule', groupId: 'open', direction: 'ingress', etherType: 'IPv4', protocol: null },
    ...{ portMin: null, portMax: null, remoteCidr: null, remoteGroupId: null },
    ...more,
  }) as Rule
const EGRESS = rule({ id: 'out', direction: 'egress' })
const rules = (...ingress: Rule[]) => new Map([['open', [EGRESS, ...ingress]]])

function router(cidrs: readonly string[], more: object = {}): PathFacts['routers'][number] {
  return {
    ...{ id: 'edge', name: 'edge', isUp: true, hasSnat: true, routes: [] },
    gateway: {
      portId: 'g',
      networkId: 'public',
      fixedIps: [{ subnetId: 'p', address: '203.0.113.5' }],
    },
    cellGateways: [{ cellId: 'north', portId: 'g', fixedIps: [{ address: '203.0.113.5' }] }],
    reachedFrom: new Set(['north', 'south']),
    attached: cidrs.map((cidr) => ({
      subnet: subnet(cidr),
      portId: cidr,
      address: cidr.replace('0/24', '1'),
    })),
    ...more,
  } as unknown as PathFacts['routers'][number]
}

const verdict = (facts: Partial<PathFacts> & Pick<PathFacts, 'from' | 'to'>) =>
  pathChecks({
    routers: [],
    rules: rules(rule({})),
    traffic: { protocol: TCP, port: 80 },
    ...facts,
  })
/** The reasons of what does not hold, each with its name. */
const missing = (facts: Parameters<typeof verdict>[0]) =>
  verdict(facts)
    .filter(({ holds }) => !holds)
    .map(({ name, reason }) => `${name}: ${reason}`)

const from = end(portOf(BLUE, 11))
const near = end(portOf(BLUE, 12))
const far = end(portOf(RED, 12))
const floating = end(
  portOf(RED, 12, {
    port: { floatingIps: [{ fixedAddress: '10.2.0.12', address: '203.0.113.9' }] },
  }),
  '203.0.113.9',
)

test('ports of one network reach each other as the rules of both say', () => {
  expect(missing({ from, to: near })).toEqual([])
  expect(
    missing({ from, to: near, rules: rules(rule({ protocol: 'tcp', portMin: 81, portMax: 90 })) }),
  ).toEqual([
    expect.stringMatching(
      /^ingress: No rule .* lets 10\.1\.0\.12 be reached from 10\.1\.0\.11 by protocol 6, port 80/,
    ),
  ])
  const onlyIn = new Map([['open', [rule({})]]])
  expect(missing({ from, to: near, rules: onlyIn })).toEqual([expect.stringMatching(/^egress:/)])
})

test.each<[string, Partial<Rule>, boolean]>([
  ['its protocol and ports', { protocol: 'tcp', portMin: 80, portMax: 80 }, true],
  ['another protocol', { protocol: 'udp' }, false],
  ['the other IP version', { etherType: 'IPv6' }, false],
  ['a network that the sender is in', { remoteCidr: BLUE }, true],
  ['a network that the sender is not in', { remoteCidr: RED }, false],
  ['a group of the sender', { remoteGroupId: 'open' }, true],
  ['a group that the sender is not in', { remoteGroupId: 'others' }, false],
])('a rule about %s', (_what, parts, isLet) => {
  expect(missing({ from, to: near, rules: rules(rule(parts)) })).toHaveLength(isLet ? 0 : 1)
})

test('a rule for some ports lets nothing in where no port is asked for', () => {
  const some = rules(rule({ protocol: 'tcp', portMin: 80, portMax: 80 }))
  const traffic = { protocol: TCP, port: null }

  expect(missing({ from, to: near, rules: some, traffic })).toHaveLength(1)
})

test('without port security no rule is needed', () => {
  const open = portOf(BLUE, 12, { port: { hasPortSecurity: false, securityGroupIds: [] } })

  expect(missing({ from, to: end(open), rules: rules() })).toEqual([])
})

test('nothing filters the packets of a machine', () => {
  const machine = portOf(BLUE, 12, { port: { isMachine: true, securityGroupIds: [] } })

  expect(missing({ from, to: end(machine), rules: rules() })).toEqual([])
})

test('networks need a router, for the way there and for the answer', () => {
  expect(missing({ from, to: far })).toEqual([
    'route: No router has 10.1.0.1, the gateway of subnet 10.1.0.0/24: openstack router add subnet.',
    'answer: No router has 10.2.0.1, the gateway of subnet 10.2.0.0/24: openstack router add subnet.',
  ])
  expect(missing({ from, to: far, routers: [router([BLUE])] })).toEqual([
    'route: Router edge is not on subnet 10.2.0.0/24: openstack router add subnet.',
    expect.stringMatching(/^answer: No router has 10\.2\.0\.1/),
  ])
  expect(missing({ from, to: far, routers: [router([BLUE, RED])] })).toEqual([])
  expect(missing({ from, to: far, routers: [router([BLUE, RED], { isUp: false })] })).toHaveLength(
    2,
  )
  const bare = end(portOf(RED, 12, { subnet: subnet(RED, { gatewayIp: null }) }))
  expect(missing({ from, to: bare, routers: [router([BLUE, RED])] })).toEqual([
    'answer: Subnet 10.2.0.0/24 has no gateway: openstack subnet set --gateway.',
  ])
})

test('outside is reached by a router with SNAT, or with a floating IP', () => {
  expect(missing({ from, to: OUTSIDE, routers: [router([BLUE])] })).toEqual([])
  expect(missing({ from, to: OUTSIDE, routers: [router([BLUE], { gateway: null })] })).toEqual([
    'route: Router edge has no external gateway: openstack router set --external-gateway.',
  ])
  const noSnat = [router([BLUE], { hasSnat: false })]
  expect(missing({ from, to: OUTSIDE, routers: noSnat })).toEqual([
    expect.stringContaining('has no SNAT and 10.1.0.11 no floating IP'),
  ])
  const known = portOf(BLUE, 11, {
    port: { floatingIps: [{ fixedAddress: '10.1.0.11', address: '203.0.113.8' }] },
  })
  expect(missing({ from: end(known), to: OUTSIDE, routers: noSnat })).toEqual([])
})

test('servers of a further cell go outside by its own address, if there is one', () => {
  const there = end(portOf(BLUE, 12, { place: placeIn('south') }))
  const south = { cellId: 'south', portId: 's', fixedIps: [{ address: '203.0.113.6' }] }
  const out = (more: object) => ({ from: there, to: OUTSIDE, routers: [router([BLUE], more)] })

  expect(verdict(out({ cellGateways: [south] }))).toContainEqual({
    ...{ name: 'route', holds: true },
    reason: 'Router edge leads outside, as its address 203.0.113.6.',
  })
  expect(missing(out({}))).toEqual([
    expect.stringContaining('Router edge has no address for the servers of cell south'),
  ])
  const narrow = { cellGateways: [south], reachedFrom: new Set(['north']) }
  expect(missing(out(narrow))).toEqual([
    expect.stringContaining('No host of cell south has a bridge for the external network'),
  ])
  const known = end(
    portOf(BLUE, 12, {
      place: placeIn('south'),
      port: { floatingIps: [{ fixedAddress: '10.1.0.12', address: '203.0.113.9' }] },
    }),
  )
  expect(missing({ ...out({}), from: known })).toEqual([])
  expect(
    missing({
      from: OUTSIDE,
      to: { ...known, address: '203.0.113.9' },
      routers: [router([BLUE], narrow)],
    }),
  ).toEqual([expect.stringContaining('No host of cell south has a bridge')])
})

test('from outside a port is reached by its floating IP alone', () => {
  const routers = [router([RED])]
  expect(missing({ from: OUTSIDE, to: floating, routers })).toEqual([])
  expect(missing({ from: OUTSIDE, to: far, routers })).toEqual([
    expect.stringContaining('10.2.0.12 is known inside only'),
  ])
  const provider = portOf(RED, 12, { network: network('site', { physicalNetwork: 'site' }) })
  expect(missing({ from: OUTSIDE, to: end(provider) })).toEqual([])
})

test('behind a floating IP a sender is known by the address of its router', () => {
  const routers = [router([BLUE]), router([RED], { id: 'other' })]
  const byRouter = rules(rule({ remoteCidr: '203.0.113.5/32' }))
  const byItself = rules(rule({ remoteCidr: '10.1.0.11/32' }))

  expect(missing({ from, to: floating, routers, rules: byRouter })).toEqual([])
  expect(missing({ from, to: floating, routers, rules: byItself })).toEqual([
    expect.stringContaining('be reached from 203.0.113.5'),
  ])
})

test('servers on two hosts need OVN, and in two cells tunnels between the hosts', () => {
  const at = (name: string, hasOvn: boolean, encapAddress: string | null = '10.9.0.2') =>
    end(portOf(BLUE, 12, { place: { ...placeIn(name), hasOvn, encapAddress } }))
  const edge = { ...placeIn('edge'), cell: cellOf('edge', 'far') }

  expect(missing({ from, to: at('north', true) })).toEqual([])
  expect(missing({ from, to: at('south', true) })).toEqual([])
  expect(missing({ from, to: at('north', false) })).toEqual([
    expect.stringMatching(/^host: Host two has bridges of its own/),
  ])
  expect(missing({ from, to: at('south', true, null) })).toEqual([
    expect.stringMatching(/^host: The cell of host two has not reported where its tunnels end/),
  ])
  expect(missing({ from, to: end(portOf(BLUE, 12, { place: edge })) })).toEqual([
    "host: Hosts one and two do not tunnel: north is in no named transport zone, and edge is in transport zone 'far'.",
  ])
})

test('servers of another cloud are reached by their floating IPs, once these are there', () => {
  const place = {
    ...placeIn('north'),
    ...{ host: 'lab-1', hasOvn: false, isCloud: true, encapAddress: null },
  }
  const port = portOf(RED, 12, { place })
  const floatingThere = end(port, '203.0.113.9')
  const routers = [router([BLUE]), router([RED], { id: 'other' })]
  const open = rules(rule({}))

  expect(missing({ from, to: end(port), routers, rules: open })).toContainEqual(
    expect.stringMatching(/^host: Host lab-1 is another cloud/),
  )
  expect(missing({ from, to: floatingThere, routers, rules: open })).toEqual([])
  const problem = 'The address 203.0.113.9 leads to another port there.'
  expect(missing({ from: OUTSIDE, to: { ...floatingThere, problem }, routers })).toEqual([
    `route: Floating IP 203.0.113.9 is not in the server's cloud: ${problem}`,
  ])
})

test('a port or network that is down is named', () => {
  const down = end(portOf(BLUE, 12, { port: { status: 'DOWN' } }))
  expect(missing({ from, to: down })).toEqual([
    expect.stringContaining('is DOWN: its server is off'),
  ])
  const off = end(portOf(BLUE, 12, { port: { isUp: false } }))
  expect(missing({ from, to: off })).toEqual([expect.stringContaining('is disabled')])
  const dark = end(portOf(BLUE, 12, { network: network('blue', { isUp: false }) }))
  expect(missing({ from, to: dark })).toEqual([expect.stringContaining('Network blue is down')])
})

test('two addresses outside are none of this cloud', () => {
  expect(missing({ from: OUTSIDE, to: OUTSIDE })).toEqual([
    'route: Neither address is of a port of this cloud.',
  ])
})
