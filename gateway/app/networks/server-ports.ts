import type { Executor, Tx } from '#common/db/database.ts'
import { Failure, isFailure } from '#common/errors.ts'
import { newId } from '#common/ids.ts'
import type { Port, UnplacedPort } from '../../db/network.ts'
import { findNetworks } from '../../db/networks.ts'
import { portsOfServer } from '../../db/ports.ts'
import { bindPort, releaseServerPorts } from '../../db/server-ports.ts'
import { subnetsOfNetworks } from '../../db/subnets.ts'
import type { NicPlan, PlannedNic, ServerNic } from './nic-request.ts'
import { placePort } from './place-port.ts'
import { NO_EXTRAS } from './port-extras.ts'
import { refund } from './quotas.ts'

export interface ServerForPorts {
  readonly serverId: string
  /** Empty while no zone is chosen. */
  readonly zone: string
  /** How many NICs the server has before these. */
  readonly nicsBefore: number
  /** The id of the new port, if another record needs it; absent: new ids. */
  readonly portId?: string
  readonly now: Date
}

/**
 * Afterwards the server has the plan's NICs: ports and addresses made, existing ports bound. Part of the caller's
 * transaction. Throws `conflict` when a port or address was taken meanwhile or addresses ran out, `over-quota`.
 */
export async function allocatePorts(
  tx: Tx,
  server: ServerForPorts,
  plan: NicPlan,
): Promise<readonly ServerNic[]> {
  const nics: ServerNic[] = []
  for (const [index, nic] of plan.nics.entries()) {
    const { network, subnets } = nic
    const nicIndex = server.nicsBefore + index
    const place = { ...server, nicIndex }
    const port =
      nic.kind === 'existing'
        ? await takePort(tx, place, nic)
        : await makePort(tx, place, plan, nic)
    nics.push({ port, network, subnets })
  }
  return nics
}

/** Afterwards the servers have no ports: their own ports are gone, the users' are free. */
export async function releasePorts(tx: Tx, serverIds: readonly string[], now: Date): Promise<void> {
  const projects = await releaseServerPorts(tx, serverIds, now)
  const byProject = [...Map.groupBy(projects, (projectId) => projectId)]
  for (const [projectId, ports] of byProject.toSorted(([a], [b]) => (a < b ? -1 : 1)))
    refund(tx, projectId, 'port', ports.length)
}

/** The server's NICs as they are now, in order. */
export async function serverNics(db: Executor, serverId: string): Promise<readonly ServerNic[]> {
  const ports = await portsOfServer(db, serverId)
  const networkIds = [...new Set(ports.map((port) => port.networkId))]
  const networks = new Map((await findNetworks(db, networkIds)).map((each) => [each.id, each]))
  const subnets = Map.groupBy(await subnetsOfNetworks(db, networkIds), (each) => each.networkId)
  return ports.flatMap((port) => {
    const network = networks.get(port.networkId)
    if (network === undefined) return []
    return [{ port, network, subnets: subnets.get(network.id) ?? [] }]
  })
}

interface Place extends ServerForPorts {
  readonly nicIndex: number
}

type NewNic = Extract<PlannedNic, { kind: 'new' }>

async function takePort(
  tx: Tx,
  place: Place,
  nic: Extract<PlannedNic, { kind: 'existing' }>,
): Promise<Port> {
  const { serverId: deviceId, nicIndex, now } = place
  const deviceOwner = deviceOwnerIn(place.zone)
  const { port, tag: nicTag } = nic
  const isBound = await bindPort(tx, {
    portId: port.id,
    deviceId,
    deviceOwner,
    nicIndex,
    nicTag,
    now,
  })
  if (!isBound) throw new Failure('conflict', `Port ${port.id} is still in use.`)
  return { ...port, deviceId, deviceOwner, nicIndex, nicTag }
}

async function makePort(tx: Tx, place: Place, plan: NicPlan, nic: NewNic): Promise<Port> {
  const { network, subnets, fixedIp } = nic
  try {
    return await placePort(tx, {
      ...bootPort(place, plan, nic, place.nicIndex),
      macAddress: null,
      requests: fixedIp === null ? undefined : [fixedIp],
      subnets,
    })
  } catch (error) {
    throw asNovaSays(error, network.id)
  }
}

/** The port that a boot makes for a NIC. */
export function bootPort(
  { serverId: deviceId, zone, portId, now }: ServerForPorts,
  { projectId, securityGroups }: NicPlan,
  { network, tag: nicTag }: NewNic,
  nicIndex: number,
): UnplacedPort {
  return {
    id: portId ?? newId(),
    projectId,
    name: '',
    description: '',
    createdAt: now,
    updatedAt: now,
    revision: 1,
    tags: [],
    networkId: network.id,
    isUp: true,
    status: 'DOWN',
    deviceId,
    deviceOwner: deviceOwnerIn(zone),
    nicIndex,
    isBootMade: true,
    nicTag,
    hostName: '',
    ...NO_EXTRAS,
    hasPortSecurity: network.hasPortSecurity,
    securityGroupIds: network.hasPortSecurity ? securityGroups.map(({ id }) => id) : [],
  }
}

function deviceOwnerIn(zone: string): string {
  return `compute:${zone}`
}

/** The names Nova gives failures of the network service while it makes a server's ports. */
function asNovaSays(error: unknown, networkId: string): unknown {
  if (isFailure(error, 'over-quota'))
    return new Failure('over-quota', 'Maximum number of ports exceeded', { cause: error })
  if (isFailure(error, 'not-found'))
    return new Failure('invalid', `Network ${networkId} could not be found.`, { cause: error })
  return error
}
