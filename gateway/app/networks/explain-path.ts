import type { Executor } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import type { CellId, HostId } from '#common/ids.ts'
import { isUuid } from '#common/ids.ts'
import { protocolNumber } from '#common/ip-protocols.ts'
import type { Cell } from '../../cell-client/cell.ts'
import { joinedHosts, placedPorts } from '../../db/cell-networks.ts'
import { floatingIpWith } from '../../db/floating-ips.ts'
import { hostHasCapability } from '../../db/host-capability.ts'
import type { Port } from '../../db/network.ts'
import { findNetworks } from '../../db/networks.ts'
import type { PortForwarding, PortRange } from '../../db/port-forwardings.ts'
import { findPorts, portsWithAddress } from '../../db/ports.ts'
import { attachedSubnets, findRouter, type Router, routersOfSubnets } from '../../db/routers.ts'
import { findSecurityGroups } from '../../db/security-groups.ts'
import { findSubnet } from '../../db/subnets.ts'
import { OVN, ROUTING } from './engine.ts'
import { canonicalIp } from './ip.ts'
import { type PathCheck, type PathEnd, type PathPort, pathChecks } from './path-verdict.ts'
import { cellsReaching } from './routers/cell-gateways.ts'

/** The two ends of a path, each a fixed or floating address, or the id of a port. */
export interface PathQuestion {
  readonly from: string
  readonly to: string
  /** As a rule of a security group names it; undefined: anything. */
  readonly protocol?: string | undefined
  readonly port?: number | undefined
}

export interface PathExplanation {
  readonly from: PathEnd
  readonly to: PathEnd
  readonly checks: readonly PathCheck[]
  /**
   * The command that follows one packet through OVN, on a host of the cell; null if OVN does not connect both ports
   * directly.
   */
  readonly trace: string | null
}

export interface PathDeps {
  readonly db: Executor
  readonly cells: { cell(id: string): Cell | undefined }
}

/**
 * The conditions for packets to reach one end from the other. Throws `invalid` for an end that is neither an address
 * nor the id of a port, `not-found` for a missing port, and `conflict` for an address of several ports.
 */
export async function explainPath(
  deps: PathDeps,
  { from: first, to: second, protocol, port }: PathQuestion,
): Promise<PathExplanation> {
  if (port !== undefined && protocol === undefined)
    throw new Failure('invalid', 'A port belongs to a protocol. Name it, such as protocol=tcp.')
  const [from, to] = [await endOf(deps, first, 'from'), await endOf(deps, second, 'to')]
  const { db } = deps
  const ports = [from, to].flatMap(({ port: end }) => end ?? [])
  const routerIds = await routersOfSubnets(
    db,
    ports.map(({ subnet }) => subnet.id),
  )
  const routers = await Promise.all(
    routerIds.map(async (id) => {
      const router = await findRouter(db, id)
      return router && (await withSurroundings(db, router))
    }),
  )
  const groups = await findSecurityGroups(db, [
    ...new Set(ports.flatMap((end) => end.port.securityGroupIds)),
  ])
  const number = protocol === undefined ? null : protocolNumber(protocol)
  if (number === undefined)
    throw new Failure('invalid', `${protocol} is no protocol. Name one, such as tcp, udp or icmp.`)
  const checks = pathChecks({
    ...{ from, to },
    routers: routers.filter((router) => router !== undefined),
    rules: new Map(groups.map(({ id, rules }) => [id, rules])),
    traffic: { protocol: number, port: port ?? null },
  })
  return { from, to, checks, trace: traceOf(from.port, to.port) }
}

async function withSurroundings(db: Executor, router: Router) {
  const [attached, [external], hosts] = await Promise.all([
    attachedSubnets(db, router.id),
    findNetworks(db, router.gateway === null ? [] : [router.gateway.networkId]),
    joinedHosts(db),
  ])
  return {
    ...router,
    attached,
    reachedFrom: cellsReaching(hosts, external?.physicalNetwork ?? null),
  }
}

async function endOf(deps: PathDeps, given: string, field: string): Promise<PathEnd> {
  const { db } = deps
  if (isUuid(given)) {
    const [port] = await findPorts(db, [given])
    const address = port?.fixedIps[0]?.address
    if (port === undefined) throw new Failure('not-found', `There is no port ${given}.`)
    if (address === undefined)
      throw new Failure('invalid', `Port ${given} has no address: openstack port set --fixed-ip.`)
    return { address, port: await portAt(deps, port, address) }
  }
  const address = canonicalIp(given, field)
  const floating = await floatingIpWith(db, null, address)
  if (floating !== undefined) {
    const { fixedPortId, fixedAddress, forwardings } = floating
    if (forwardings.length > 0) throw forwardedOnly(address, forwardings)
    const [port] = fixedPortId === null ? [] : await findPorts(db, [fixedPortId])
    if (port === undefined || fixedAddress === null)
      throw new Failure(
        'conflict',
        `Floating IP ${address} leads to no port: openstack server add floating ip.`,
      )
    const { reportedStatus, problem } = floating
    const isMissing = reportedStatus !== null && reportedStatus !== 'ACTIVE'
    return {
      address,
      port: await portAt(deps, port, fixedAddress),
      ...(isMissing && { problem: problem ?? 'It is not there yet.' }),
    }
  }
  const [port, ...more] = await portsWithAddress(db, address)
  if (port === undefined) return { address, port: null }
  if (more.length > 0)
    throw new Failure(
      'conflict',
      `Several ports have ${address}: ${[port, ...more].map(({ id }) => id).join(', ')}. Give the id of one.`,
    )
  return { address, port: await portAt(deps, port, address) }
}

/** Where each forwarded port leads is another question. */
function forwardedOnly(address: string, forwardings: readonly PortForwarding[]): Failure {
  const each = forwardings.map(
    ({ protocol, external, portId, internal }) =>
      `${protocol} ${rangeText(external)} to port ${portId}, ${rangeText(internal)}`,
  )
  return new Failure(
    'conflict',
    `Floating IP ${address} leads to no port as a whole. These ports are forwarded: ${each.join('; ')}. Ask for the id of one of the ports.`,
  )
}

function rangeText({ first, last }: PortRange): string {
  return first === last ? String(first) : `${first} to ${last}`
}

async function portAt(
  { db, cells }: PathDeps,
  port: Port,
  fixedAddress: string,
): Promise<PathPort> {
  const subnetId = port.fixedIps.find(({ address }) => address === fixedAddress)?.subnetId ?? ''
  const [[network], subnet, [placed]] = await Promise.all([
    findNetworks(db, [port.networkId]),
    findSubnet(db, subnetId),
    placedPorts(db, [], [port.id]),
  ])
  if (network === undefined || subnet === undefined)
    throw new Failure('conflict', `Port ${port.id} was changed meanwhile. Ask again.`)
  const { cellId = null, hostId = null } = placed ?? {}
  if (cellId === null || hostId === null)
    return { port, fixedAddress, network, subnet, place: null }
  const hasOvn = await hostHasCapability(db, cellId as CellId, hostId as HostId, OVN)
  const isCloud = await hostHasCapability(db, cellId as CellId, hostId as HostId, ROUTING)
  const joined = (await joinedHosts(db)).find(({ id }) => id === hostId)
  const encapAddress = joined?.encapAddress ?? null
  return {
    port,
    fixedAddress,
    network,
    subnet,
    place: {
      ...{ cellId, host: port.hostName, cell: cells.cell(cellId) ?? null },
      ...{ hasOvn, isCloud, encapAddress },
    },
  }
}

/** ovn-trace(8). */
function traceOf(from: PathPort | null, to: PathPort | null): string | null {
  if (from?.place?.hasOvn !== true || to?.place?.hasOvn !== true) return null
  // A machine's packets come to OVN from the site, if at all.
  if (from.port.isMachine === true) return null
  if (from.network.id !== to.network.id || from.place.cellId !== to.place.cellId) return null
  const ip = from.fixedAddress.includes(':') ? 'ip6' : 'ip4'
  const packet = [
    `inport == "${from.port.id}"`,
    `eth.src == ${from.port.macAddress}`,
    `eth.dst == ${to.port.macAddress}`,
    `${ip}.src == ${from.fixedAddress}`,
    `${ip}.dst == ${to.fixedAddress}`,
    'ip.ttl == 64',
  ]
  return `ovn-trace --ct new neutron-${from.network.id} '${packet.join(' && ')}'`
}
