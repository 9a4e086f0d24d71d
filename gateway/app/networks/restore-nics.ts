import type { Executor, Tx } from '#common/db/database.ts'
import { Failure, isFailure } from '#common/errors.ts'
import type { InstanceBuild } from '#openapi/wire/instance.ts'
import type { Network, Port, Subnet } from '../../db/network.ts'
import { findNetworks } from '../../db/networks.ts'
import { findPorts } from '../../db/ports.ts'
import { bindPort } from '../../db/server-ports.ts'
import { subnetsOfNetworks } from '../../db/subnets.ts'
import type { ServerNic } from './nic-request.ts'
import { type AddressRequest, placePort } from './place-port.ts'
import { NO_EXTRAS } from './port-extras.ts'

type Nic = InstanceBuild['nics'][number]

/** A NIC whose network and subnets exist. */
export interface KnownNic {
  readonly nic: Nic
  readonly network: Network
  readonly subnets: readonly Subnet[]
  readonly requests: readonly AddressRequest[]
}

/** A part of a NIC was given to another server since its server got it. */
export class NicTaken extends Failure {
  readonly portId: string

  constructor(portId: string, cause: Error) {
    super('conflict', cause.message, { cause })
    this.portId = portId
  }
}

/** The NICs whose networks and subnets still, or again, exist. */
export async function knownNics(db: Executor, nics: readonly Nic[]): Promise<readonly KnownNic[]> {
  const ids = [...new Set(nics.map(({ networkId }) => networkId))]
  const networks = new Map((await findNetworks(db, ids)).map((each) => [each.id, each]))
  const byNetwork = Map.groupBy(await subnetsOfNetworks(db, ids), (each) => each.networkId)
  return nics.flatMap((nic) => {
    const network = networks.get(nic.networkId)
    const subnets = byNetwork.get(nic.networkId) ?? []
    const requests = nic.fixedIps.flatMap(({ address, cidr }) => {
      const subnet = subnets.find((each) => each.cidr === cidr)
      return subnet === undefined ? [] : [{ subnet, address }]
    })
    if (network === undefined || requests.length < nic.fixedIps.length) return []
    return [{ nic, network, subnets, requests }]
  })
}

/** Whose the NICs are. */
export interface NicOwner {
  readonly serverId: string
  readonly projectId: string
  readonly zone: string
  readonly securityGroupIds: readonly string[]
  readonly now: Date
}

/**
 * Afterwards the server has these NICs as ports, under their ids, with their MACs and addresses. Part of the caller's
 * transaction, which must not commit after a failure. Throws `NicTaken`, `over-quota`.
 */
export async function restoreNics(
  tx: Tx,
  owner: NicOwner,
  nics: readonly KnownNic[],
): Promise<readonly ServerNic[]> {
  const restored: ServerNic[] = []
  for (const [nicIndex, known] of nics.entries())
    try {
      const port = await restorePort(tx, owner, known, nicIndex)
      restored.push({ port, network: known.network, subnets: known.subnets })
    } catch (error) {
      if (!isFailure(error, 'conflict')) throw error
      throw new NicTaken(known.nic.portId, error)
    }
  return restored
}

async function restorePort(
  tx: Tx,
  { serverId: deviceId, projectId, zone, securityGroupIds, now }: NicOwner,
  { nic, network, subnets, requests }: KnownNic,
  nicIndex: number,
): Promise<Port> {
  const { portId, macAddress, tag: nicTag = null } = nic
  const bound = { deviceId, deviceOwner: `compute:${zone}`, nicIndex, nicTag }
  const [port] = await findPorts(tx, [portId])
  if (port !== undefined) {
    const isFree = port.projectId === projectId && (await bindPort(tx, { portId, ...bound, now }))
    if (isFree) return { ...port, ...bound }
    throw new Failure('conflict', `Port ${portId} is in use by another server or project.`)
  }
  return placePort(tx, {
    ...bound,
    id: portId,
    projectId,
    name: '',
    description: '',
    createdAt: now,
    updatedAt: now,
    revision: 1,
    tags: [],
    networkId: network.id,
    macAddress,
    isUp: true,
    status: 'DOWN',
    isBootMade: true,
    hostName: '',
    ...NO_EXTRAS,
    hasPortSecurity: network.hasPortSecurity,
    securityGroupIds: network.hasPortSecurity ? securityGroupIds : [],
    requests,
    subnets,
  })
}
