import { errorChain, isFailure } from '#common/errors.ts'
import type { NetworkId, PortId } from '#common/ids.ts'
import type { HostRouter, HostRouting, RoutingProblem } from '#openapi/wire/routing.ts'
import type { Routing } from '../../routing.ts'
import type { NestedHost } from '../host.ts'
import { portName } from '../names.ts'
import type { CloudRouter } from './cloud-routers.ts'
import { isGuestPort, isInterface, isUnattached, readTopology, type Topology } from './topology.ts'

type RoutingHost = Pick<NestedHost, 'cloud' | 'floatingIps' | 'networks' | 'outsides' | 'routers'>

/** The work of one `apply`: what is wanted, what is there, and what is wrong with it. */
interface Round {
  readonly host: RoutingHost
  readonly wanted: HostRouting
  readonly topology: Topology
  readonly routers: ReadonlyMap<string, readonly CloudRouter[]>
  readonly signal: AbortSignal
  readonly problems: RoutingProblem[]
}

/** Routers and floating IPs are those of the nested cloud: one for each of ours that its guests need. */
export function nestedRouting(host: RoutingHost): Routing {
  let last: Promise<unknown> = Promise.resolve()
  return {
    apply: (wanted, signal) => {
      // One at a time: two would make the same things.
      const mine = last.catch(() => undefined).then(() => apply(host, wanted, signal))
      last = mine
      return mine
    },
  }
}

async function apply(
  host: RoutingHost,
  wanted: HostRouting,
  signal: AbortSignal,
): Promise<readonly RoutingProblem[]> {
  if (isNothing(wanted) && !(await hasRouters(host, signal))) return []
  const topology = await readTopology(host.cloud, signal)
  const routers = await host.routers.list(signal)
  const round: Round = { host, wanted, topology, routers, signal, problems: [] }
  await releaseFloatingIps(round)
  await removeExcess(round)
  await removeUnattached(round)
  for (const router of wanted.routers)
    await noting(round, router.id, () => ensureRouter(round, router))
  await ensureFloatingIps(round)
  return round.problems
}

function isNothing({ routers, floatingIps }: HostRouting): boolean {
  return routers.length + floatingIps.length === 0
}

/** A cloud without routers has nothing of ours to remove. */
async function hasRouters({ outsides }: RoutingHost, signal: AbortSignal): Promise<boolean> {
  try {
    await outsides.list(signal)
    return true
  } catch (error) {
    if (isFailure(error, 'unsupported')) return false
    if (isFailure(error, 'invalid')) return true
    throw error
  }
}

/** A failure is the object's problem, but for a silent cloud, which would be everyone's. */
async function noting(
  { problems }: Pick<Round, 'problems'>,
  id: string,
  work: () => Promise<void>,
): Promise<void> {
  try {
    await work()
  } catch (error) {
    if (!isFailure(error) || error.kind === 'unavailable') throw error
    problems.push({ id, status: 'ERROR', reason: reasonOf(errorChain(error)) })
  }
}

const REASON_MAX = 1_000

function reasonOf(text: string): string {
  return text.slice(0, REASON_MAX)
}

/** Those that are not wanted go; those that are to lead elsewhere lead nowhere first, so that two can change places. */
async function releaseFloatingIps(round: Round): Promise<void> {
  const { host, wanted, topology, signal } = round
  const { floatingIps } = host
  const byId = new Map(wanted.floatingIps.map((ip) => [ip.id, ip]))
  for (const ip of await floatingIps.list(signal)) {
    if (!floatingIps.isOwn(ip)) continue
    const ours = byId.get(ip.mark?.id ?? '')
    await noting(round, ip.mark?.id ?? '', async () => {
      if (ours === undefined || ours.address !== ip.floating_ip_address)
        return floatingIps.release(ip, signal)
      if ((await host.outsides.idOf(ours.outside, signal)) !== ip.floating_network_id)
        return floatingIps.release(ip, signal)
      const port = topology.ports.find(({ id }) => id === ip.port_id)
      if (ip.port_id !== null && port?.name !== portName(ours.portId as PortId))
        await floatingIps.loosen(ip, signal)
    })
  }
}

/** Routers leave the networks that ours are not on, or that no guest of ours is on; those that are on none go. */
async function removeExcess(round: Round): Promise<void> {
  const { host, topology, routers, wanted, signal } = round
  const ourNetworks = new Map([...topology.networks].map(([ours, theirs]) => [theirs, ours]))
  for (const [id, [kept, ...doubles]] of routers) {
    const ours = wanted.routers.find((router) => router.id === id)
    for (const router of [kept!, ...doubles])
      await noting(round, id, async () => {
        const ports = topology.ports.filter(
          (port) => isInterface(port) && port.device_id === router.id,
        )
        const isDouble = router !== kept
        const excess = ports.filter(
          (port) => isDouble || !isWanted(round, ourNetworks.get(port.network_id), ours),
        )
        for (const port of excess) {
          await host.routers.detach(router.id, port.id, signal)
          const network = ourNetworks.get(port.network_id)
          if (network !== undefined && !hasGuests(round, network))
            await host.networks.releaseNetwork(network as NetworkId, () => false, signal)
        }
        const isUsed = excess.length < ports.length || (!isDouble && isRealised(round, ours))
        if (!isUsed) await host.routers.remove(router.id, signal)
      })
  }
}

/** Removes networks without guests on which an interrupted round left a port of a router: no other step removes them. */
async function removeUnattached(round: Round): Promise<void> {
  const { host, topology, signal } = round
  for (const [ours, theirs] of topology.networks) {
    const isLeft = topology.ports.some((port) => port.network_id === theirs && isUnattached(port))
    if (!isLeft || hasGuests(round, ours)) continue
    await noting(round, ours, () =>
      host.networks.releaseNetwork(ours as NetworkId, () => false, signal),
    )
  }
}

/**
 * Of a network of this host's guests its cell knows the routers; on others, guests of further hosts of this project may
 * need a router of which this host is not told.
 */
function isWanted(
  round: Round,
  network: string | undefined,
  router: HostRouter | undefined,
): boolean {
  if (network === undefined) return true
  if (!hasGuests(round, network)) return false
  const isOn = router?.interfaces.some(({ networkId }) => networkId === network) === true
  if (router !== undefined || round.wanted.networkIds.includes(network)) return isOn
  return true
}

/** True while a guest of this host, or of another of the same project there, is on the network. */
function hasGuests({ topology, wanted }: Round, network: string): boolean {
  if (wanted.networkIds.includes(network)) return true
  const below = topology.networks.get(network)
  return topology.ports.some((port) => port.network_id === below && isGuestPort(port))
}

/** The interfaces of the router that can be there: those on networks that the cloud has. */
function realisable(round: Round, { interfaces }: HostRouter) {
  return interfaces.flatMap((each) => {
    const below = round.topology.networks.get(each.networkId)
    return below === undefined || !hasGuests(round, each.networkId) ? [] : [{ each, below }]
  })
}

function isRealised(round: Round, router: HostRouter | undefined): boolean {
  return router !== undefined && realisable(round, router).length > 0
}

async function ensureRouter(round: Round, wanted: HostRouter): Promise<void> {
  const { host, routers, topology, signal } = round
  const interfaces = realisable(round, wanted)
  if (interfaces.length === 0) return
  const { gateway } = wanted
  const outside = gateway === null ? null : await host.outsides.idOf(gateway.outside, signal)
  const [found] = routers.get(wanted.id) ?? []
  const router = await host.routers.ensure(wanted, found, outside, signal)
  for (const { each, below } of interfaces)
    await host.routers.attach(router, each, below, topology.ports, signal)
  await host.routers.route(router, wanted, signal)
}

async function ensureFloatingIps(round: Round): Promise<void> {
  const { host, wanted, topology, signal, problems } = round
  const { floatingIps } = host
  if (wanted.floatingIps.length === 0) return
  const all = await floatingIps.list(signal)
  for (const ip of wanted.floatingIps) {
    const { id } = ip
    const port = topology.ports.find(({ name }) => name === portName(ip.portId as PortId))
    if (port === undefined) {
      problems.push({ id, status: 'DOWN', reason: 'The port of its server is not there yet.' })
      continue
    }
    await noting(round, id, async () => {
      const networkId = await host.outsides.idOf(ip.outside, signal)
      const there = await floatingIps.ensure(ip, { networkId, portId: port.id }, all, signal)
      const { status, 'weir:problem': problem } = there
      if (status !== 'DOWN' && status !== 'ERROR') return
      const because = problem == null ? '.' : `: ${problem}`
      problems.push({
        id,
        status,
        reason: reasonOf(`The nested cloud shows it as ${status}${because}`),
      })
    })
  }
}
