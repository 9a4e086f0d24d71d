import type { Tx } from '#common/db/database.ts'
import type { Port, UnplacedPort } from '../../db/network.ts'
import { queueCharge } from '../../db/network-quotas.ts'
import { queueAddress } from '../../db/port-addresses.ts'
import { queueBootPort, queueGroupBindings } from '../../db/port-inserts.ts'
import type { FreeAddress } from './free-addresses.ts'
import type { Networks } from './list-networks.ts'
import type { NicPlan, PlannedNic, ServerNic } from './nic-request.ts'
import { newMacAddress } from './place-port.ts'
import { DEFAULT_LIMITS } from './quotas.ts'
import { bootPort, type ServerForPorts } from './server-ports.ts'
import { isAutoAddressed } from './subnet-addressing.ts'

/** An object has changed a moment ago, and it is unknown which one: `allocatePorts` reports it, or finds another way. */
export class NotPlaced extends Error {}

const notPlaced = () => new NotPlaced()

/**
 * The NICs of a request's servers in statements that go out with the commit: no answer is waited for, so that nothing is
 * locked over a round trip and boots that come together commit together. The transaction fails with `NotPlaced`, a taken
 * key or a missing value, where an address, MAC, network or the quota does not allow it.
 */
export interface QuickNics {
  place(tx: Tx, server: ServerForPorts): readonly ServerNic[]
  /** Counts the ports of so many servers: last, because every boot of the project wants the row. */
  charge(tx: Tx, servers: number): void
}

type NewNic = Extract<PlannedNic, { kind: 'new' }>

/** Undefined where some NIC needs more than a new port with any address. */
export async function quickNics(
  networks: Networks,
  plan: NicPlan,
  servers: number,
): Promise<QuickNics | undefined> {
  const nics = plan.nics.filter((nic): nic is NewNic => nic.kind === 'new' && nic.fixedIp === null)
  if (nics.length === 0 || nics.length < plan.nics.length) return undefined
  const found = await Promise.all(nics.map((nic) => addressesFor(networks, nic, servers)))
  const free = found.filter((each) => each !== undefined)
  if (free.length < nics.length) return undefined
  // The same for each server at every call, because a transaction may be run again.
  const places = new Map<string, number>()
  return {
    place: (tx, server) => {
      const turn = places.get(server.serverId) ?? places.size
      places.set(server.serverId, turn)
      return nics.map((nic, index) => {
        const port = bootPort(server, plan, nic, server.nicsBefore + index)
        const tunnelKey = networks.portKeys.next(port.networkId)
        return { ...nic, port: queued(tx, { ...port, tunnelKey }, free[index]![turn]!) }
      })
    },
    charge: (tx, count) => {
      const { projectId } = plan
      const amount = count * nics.length
      const values = { projectId, resource: 'port', amount, defaultLimit: DEFAULT_LIMITS.port }
      queueCharge(tx, values, notPlaced)
    },
  }
}

/** One address per IP version for each server. */
async function addressesFor(
  { db, freeAddresses }: Networks,
  { subnets }: NewNic,
  servers: number,
): Promise<readonly (readonly FreeAddress[])[] | undefined> {
  if (subnets.some(isAutoAddressed)) return undefined
  const versions = [4, 6].flatMap(
    (version) => subnets.find((each) => each.ipVersion === version) ?? [],
  )
  const taken = await Promise.all(versions.map((each) => freeAddresses.take(db, each, servers)))
  const found = taken.filter((each) => each !== undefined)
  if (found.length < versions.length) return undefined
  return Array.from({ length: servers }, (_, turn) => found.map((each) => each[turn]!))
}

function queued(
  tx: Tx,
  port: UnplacedPort & Pick<Port, 'tunnelKey'>,
  addresses: readonly FreeAddress[],
): Port {
  const placed = { ...port, macAddress: newMacAddress() }
  queueBootPort(tx, placed, notPlaced)
  for (const { subnetId, address, offset } of addresses)
    queueAddress(tx, { portId: port.id, subnetId, address, offset }, notPlaced)
  queueGroupBindings(tx, port.id, port.securityGroupIds)
  const fixedIps = addresses.map(({ subnetId, address }) => ({ subnetId, address }))
  return { ...placed, fixedIps, floatingIps: [] }
}
