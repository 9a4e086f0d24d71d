import type { Network, Port, SecurityGroupRule, Subnet } from '../../db/network.ts'
import type { AttachedSubnet, Router } from '../../db/routers.ts'
import { type Tunnelling, whyNoTunnel } from '../cells/tunnels.ts'
import { contains, parseCidr, parseIp } from './ip.ts'
import { filteredProtocol } from './rule-of.ts'

/** One end of a path: a port with one of its addresses, or an address outside, which no port has. */
export interface PathEnd {
  /** The address in the request: fixed, floating, or outside. */
  readonly address: string
  readonly port: PathPort | null
  /** Of a floating IP in the server's cloud that is not there: why; absent: it is, or OVN leads it. */
  readonly problem?: string
}

export interface PathPort {
  readonly port: Port
  readonly fixedAddress: string
  readonly network: Network
  readonly subnet: Subnet
  readonly place: Place | null
}

/** Where the server of a port is. */
export interface Place {
  readonly cellId: string
  readonly host: string
  /** What is known of the tunnels of its cell; null: the cell has left. */
  readonly cell: Tunnelling | null
  /** True if its networks span the hosts of its cell. */
  readonly hasOvn: boolean
  /** True of another cloud: it routes its servers itself. */
  readonly isCloud: boolean
  /** Where its tunnels end, as its cell has said; null: it has not. */
  readonly encapAddress: string | null
}

/** The packets in question; null: any. */
export interface Traffic {
  /** IANA's number. */
  readonly protocol: number | null
  /** Of the receiver. */
  readonly port: number | null
}

export interface PathFacts {
  readonly from: PathEnd
  readonly to: PathEnd
  /** Those with an interface on a subnet of either end. */
  readonly routers: readonly (Router & {
    readonly attached: readonly AttachedSubnet[]
    /** Ids of the cells with hosts that reach its external network. */
    readonly reachedFrom: ReadonlySet<string>
  })[]
  /** By security group. */
  readonly rules: ReadonlyMap<string, readonly SecurityGroupRule[]>
  readonly traffic: Traffic
}

/** One thing that has to be so for packets to pass. */
export interface PathCheck {
  readonly name: 'port' | 'host' | 'route' | 'answer' | 'egress' | 'ingress'
  readonly holds: boolean
  /** A sentence, with what to do if the condition does not hold. */
  readonly reason: string
}

/** The conditions for packets to reach one end from the other, and whether each holds, as far as the gateway knows. */
export function pathChecks(facts: PathFacts): readonly PathCheck[] {
  const { from, to } = facts
  return [
    ...[from, to].flatMap(({ port }) => (port === null ? [] : [portCheck(port)])),
    ...hostCheck(from, to),
    ...routeChecks(facts),
    ...(from.port === null ? [] : [groupCheck(facts, 'egress', from.port, to)]),
    ...(to.port === null ? [] : [groupCheck(facts, 'ingress', to.port, from)]),
  ]
}

function check(name: PathCheck['name'], holds: boolean, reason: string): PathCheck {
  return { name, holds, reason }
}

function portCheck({ port, fixedAddress, network }: PathPort): PathCheck {
  const what = `Port ${port.id} (${fixedAddress})`
  if (!network.isUp)
    return check('port', false, `Network ${network.name} is down: openstack network set --enable.`)
  if (!port.isUp) return check('port', false, `${what} is disabled: openstack port set --enable.`)
  const holds = port.status === 'ACTIVE'
  const why = holds ? '' : ': its server is off, or its host has not plugged it in yet'
  return check('port', holds, `${what} is ${port.status}${why}.`)
}

function hostCheck(from: PathEnd, to: PathEnd): readonly PathCheck[] {
  const [one, two] = [from.port?.place, to.port?.place]
  if (one == null || two == null) return []
  if (one.cellId === two.cellId && one.host === two.host)
    return [check('host', true, `Both servers are on host ${one.host}.`)]
  const cloud = [one, two].find(({ isCloud }) => isCloud)
  if (cloud !== undefined && to.address === to.port?.fixedAddress)
    return [
      check(
        'host',
        false,
        `Host ${cloud.host} is another cloud: it and other hosts reach each other's servers by floating IPs only.`,
      ),
    ]
  const plain = [one, two].find(({ hasOvn, isCloud }) => !hasOvn && !isCloud)
  if (plain !== undefined)
    return [
      check(
        'host',
        false,
        `Host ${plain.host} has bridges of its own: its servers reach no server on another host. Join it to the OVN of its cell.`,
      ),
    ]
  if (cloud !== undefined)
    return [check('host', true, `Host ${cloud.host} is another cloud, which routes its servers.`)]
  if (one.cellId === two.cellId)
    return [check('host', true, `OVN joins hosts ${one.host} and ${two.host}.`)]
  const apart = one.cell && two.cell && whyNoTunnel(one.cell, two.cell)
  if (apart != null)
    return [check('host', false, `Hosts ${one.host} and ${two.host} do not tunnel: ${apart}.`)]
  const silent = [one, two].find(({ encapAddress }) => encapAddress === null)
  return [
    silent === undefined
      ? check('host', true, `OVN joins hosts ${one.host} and ${two.host}, which are in two cells.`)
      : check(
          'host',
          false,
          `The cell of host ${silent.host} has not reported where its tunnels end, so other cells send it no packets.`,
        ),
  ]
}

function routeChecks(facts: PathFacts): readonly PathCheck[] {
  const { from, to } = facts
  if (from.port === null && to.port === null)
    return [check('route', false, 'Neither address is of a port of this cloud.')]
  if (isDirect(from.port, to.port))
    return [check('route', true, `Both ports are on network ${from.port!.network.name}.`)]
  if (to.port === null) return [wayOut(facts, from.port!)]
  if (from.port === null) return [wayIn(facts, to.port, to)]
  if (to.address !== to.port.fixedAddress)
    return [wayOut(facts, from.port), wayIn(facts, to.port, to)]
  return [
    wayBetween(facts, from.port, to.port, 'route'),
    wayBetween(facts, to.port, from.port, 'answer'),
  ]
}

function isDirect(from: PathPort | null, to: PathPort | null): boolean {
  return from !== null && to !== null && from.network.id === to.network.id
}

/** The conditions from a port to an address outside. */
function wayOut({ routers }: PathFacts, from: PathPort): PathCheck {
  if (from.network.physicalNetwork !== null)
    return check('route', true, `Network ${from.network.name} is a provider network.`)
  const router = gatewayOf(routers, from)
  if (router === undefined) return check('route', false, noGateway(from))
  if (router.gateway === null)
    return check(
      'route',
      false,
      `Router ${router.name} has no external gateway: openstack router set --external-gateway.`,
    )
  const hasFloating = from.port.floatingIps.some(
    ({ fixedAddress }) => fixedAddress === from.fixedAddress,
  )
  if (!router.hasSnat && !hasFloating)
    return check(
      'route',
      false,
      `Router ${router.name} has no SNAT and ${from.fixedAddress} no floating IP: no answer finds the way back.`,
    )
  const hindrance = whyNotOutside(router, from, hasFloating)
  if (hindrance !== undefined) return check('route', false, hindrance)
  const own = addressOutside(router, from.place)
  const as = hasFloating ? 'its floating IP' : `its address ${own ?? 'on the external network'}`
  return check('route', true, `Router ${router.name} leads outside, as ${as}.`)
}

/** The address by which servers of a cell without a floating IP are known outside. */
function addressOutside(
  { gateway, cellGateways }: Router,
  place: Place | null,
): string | undefined {
  const here = cellGateways.find(({ cellId }) => cellId === place?.cellId)
  return (here ?? gateway)?.fixedIps[0]?.address
}

/** Why the cell of a server has no way outside; undefined if it has one, or the server is in no cell with OVN. */
function whyNotOutside(
  { name, cellGateways, reachedFrom }: PathFacts['routers'][number],
  { place }: PathPort,
  hasFloating: boolean,
): string | undefined {
  if (place?.hasOvn !== true) return undefined
  const cell = place.cell?.name ?? place.cellId
  if (!reachedFrom.has(place.cellId))
    return `No host of cell ${cell} has a bridge for the external network of router ${name}, so its servers do not reach outside. Map the physical network on a host (ovn-bridge-mappings).`
  if (hasFloating || cellGateways.some(({ cellId }) => cellId === place.cellId)) return undefined
  return `Router ${name} has no address for the servers of cell ${cell}: its external network has none that is free. Give it a further subnet, or give the server a floating IP.`
}

/** From outside to a port. */
function wayIn({ routers }: PathFacts, to: PathPort, { address, problem }: PathEnd): PathCheck {
  if (to.network.physicalNetwork !== null)
    return check('route', true, `Network ${to.network.name} is a provider network.`)
  if (address === to.fixedAddress)
    return check(
      'route',
      false,
      `${address} is known inside only. From outside the port is reached by a floating IP: openstack floating ip create.`,
    )
  const router = gatewayOf(routers, to)
  if (router === undefined) return check('route', false, noGateway(to))
  const hindrance = whyNotOutside(router, to, true)
  if (hindrance !== undefined) return check('route', false, hindrance)
  if (problem !== undefined)
    return check('route', false, `Floating IP ${address} is not in the server's cloud: ${problem}`)
  return check(
    'route',
    router.isUp,
    `Floating IP ${address} leads through router ${router.name}${router.isUp ? '' : ', which is disabled'}.`,
  )
}

/** The conditions from a port to a port on another network. */
function wayBetween(
  { routers }: PathFacts,
  from: PathPort,
  to: PathPort,
  name: 'route' | 'answer',
): PathCheck {
  const router = gatewayOf(routers, from)
  if (router === undefined) return check(name, false, noGateway(from))
  if (!router.isUp) return check(name, false, `Router ${router.name} is disabled.`)
  const [, there] = [router, router.attached.find(({ subnet }) => subnet.id === to.subnet.id)]
  if (there === undefined)
    return check(
      name,
      false,
      `Router ${router.name} is not on subnet ${to.subnet.cidr}: openstack router add subnet.`,
    )
  return check(
    name,
    true,
    `Router ${router.name} leads from ${from.subnet.cidr} to ${to.subnet.cidr}.`,
  )
}

/** The router that guests on the port's subnet have as their gateway. */
function gatewayOf(routers: PathFacts['routers'], { subnet }: PathPort) {
  return routers.find(({ attached }) =>
    attached.some((each) => each.subnet.id === subnet.id && each.address === subnet.gatewayIp),
  )
}

function noGateway({ subnet }: PathPort): string {
  return subnet.gatewayIp === null
    ? `Subnet ${subnet.cidr} has no gateway: openstack subnet set --gateway.`
    : `No router has ${subnet.gatewayIp}, the gateway of subnet ${subnet.cidr}: openstack router add subnet.`
}

/** Whether the rules of a port let the packets through: those that it sends, or those that it receives. */
function groupCheck(
  facts: PathFacts,
  direction: 'egress' | 'ingress',
  own: PathPort,
  other: PathEnd,
): PathCheck {
  const { port } = own
  if (!port.hasPortSecurity)
    return check(direction, true, `Port ${port.id} has no port security: everything passes.`)
  if (port.isMachine === true)
    return check(direction, true, `Port ${port.id} is a NIC of a machine: nothing filters it.`)
  const seen = addressSeen(facts, own, other)
  const rules = port.securityGroupIds.flatMap((id) => facts.rules.get(id) ?? [])
  const found = rules.find(
    (rule) => rule.direction === direction && lets(rule, facts.traffic, seen, other.port?.port),
  )
  const [to, whom] = direction === 'egress' ? ['send to', seen] : ['be reached from', seen]
  return found === undefined
    ? check(
        direction,
        false,
        `No rule of its security groups lets ${own.fixedAddress} ${to} ${whom}${describe(facts.traffic)}: openstack security group rule create --${direction}.`,
      )
    : check(direction, true, `Rule ${found.id} of security group ${found.groupId} lets it pass.`)
}

/** The address by which one end knows the other. */
function addressSeen({ routers }: PathFacts, own: PathPort, other: PathEnd): string {
  if (other.port === null || isDirect(own, other.port))
    return other.port?.fixedAddress ?? other.address
  if (other.address !== other.port.fixedAddress) return other.address
  const isJoined = gatewayOf(routers, own)?.attached.some(
    ({ subnet }) => subnet.id === other.port!.subnet.id,
  )
  if (isJoined === true) return other.port.fixedAddress
  const floating = other.port.port.floatingIps.find(
    ({ fixedAddress }) => fixedAddress === other.port!.fixedAddress,
  )
  const router = gatewayOf(routers, other.port)
  const outside = router && addressOutside(router, other.port.place)
  return floating?.address ?? outside ?? other.port.fixedAddress
}

function isProtocol(
  { etherType }: SecurityGroupRule,
  protocol: string,
  asked: number | null,
): boolean {
  return (
    asked !== null &&
    filteredProtocol(protocol, etherType) === filteredProtocol(String(asked), etherType)
  )
}

function lets(
  rule: SecurityGroupRule,
  { protocol, port }: Traffic,
  seen: string,
  member: Port | undefined,
): boolean {
  const ip = parseIp(seen, 'address')
  if ((rule.etherType === 'IPv4') !== (ip.version === 4)) return false
  if (rule.protocol !== null && !isProtocol(rule, rule.protocol, protocol)) return false
  if (
    rule.portMin !== null &&
    !(port !== null && port >= rule.portMin && port <= (rule.portMax ?? rule.portMin))
  )
    return false
  if (rule.remoteCidr !== null && !contains(parseCidr(rule.remoteCidr, 'remote'), ip)) return false
  if (rule.remoteGroupId === null) return true
  // The members of a group are known by their fixed addresses.
  const isMember = member?.securityGroupIds.includes(rule.remoteGroupId) ?? false
  return isMember && member!.fixedIps.some(({ address }) => address === seen)
}

function describe({ protocol, port }: Traffic): string {
  if (protocol === null) return ''
  return port === null ? ` by protocol ${protocol}` : ` by protocol ${protocol}, port ${port}`
}
