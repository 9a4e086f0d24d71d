import type { Tx } from '#common/db/database.ts'
import { Failure, isFailure } from '#common/errors.ts'
import {
  type AutoTopology,
  findAutoTopology,
  insertAutoTopology,
} from '../../db/auto-topologies.ts'
import type { Network } from '../../db/network.ts'
import { defaultExternalNetwork, findNetworks, lockNetwork } from '../../db/networks.ts'
import { attachedSubnets, lockRouter } from '../../db/routers.ts'
import { defaultSubnetPool, type SubnetPool } from '../../db/subnet-pools.ts'
import type { Requester } from '../requester.ts'
import { dropNetwork, newNetwork, placeNetwork } from './change-networks.ts'
import { placeSubnet, plannedSubnet } from './create-subnets.ts'
import { requireRouting } from './engine.ts'
import type { Networks } from './list-networks.ts'
import { NetworkFailure } from './network-failure.ts'
import { dropRouter, newRouter, placeRouter } from './routers/change-routers.ts'
import { addSubnet } from './routers/interfaces.ts'
import { detach } from './routers/remove-interface.ts'

/**
 * The network of the project's topology, which exists afterwards: a network with a subnet of each default pool, on a router to the default
 * external network. Throws `conflict`, as Neutron does, where there is no such pool or network, `unsupported` without a cell that has
 * OVN, `over-quota`.
 */
export async function autoTopology(
  networks: Networks,
  requester: Requester,
  asked: string,
): Promise<Pick<AutoTopology, 'networkId' | 'projectId'>> {
  const projectId = projectFor(requester, asked)
  const known = await findAutoTopology(networks.db, projectId)
  if (known !== undefined) return known
  const { external, pools } = await requirements(networks)
  const made = await networks.db.transaction((tx) =>
    build(tx, { networks, projectId, external, pools }),
  )
  // Another request was first.
  return made === undefined
    ? autoTopology(networks, requester, asked)
    : { networkId: made, projectId }
}

/** The requested project. Throws like `autoTopology` if a default network or pool is missing; creates nothing. */
export async function checkAutoTopology(
  networks: Networks,
  requester: Requester,
  asked: string,
): Promise<string> {
  const projectId = projectFor(requester, asked)
  await requirements(networks)
  return projectId
}

/** A client that knows no project id sends `None` for its own, like Neutron's clients. */
function projectFor(requester: Requester, asked: string): string {
  const projectId = asked === 'None' ? requester.projectId : asked
  if (projectId !== null && (requester.isAdmin || projectId === requester.projectId))
    return projectId
  throw new Failure('not-found', `Project ${asked} could not be found.`)
}

interface Requirements {
  readonly external: Network
  readonly pools: readonly SubnetPool[]
}

async function requirements({ db }: Networks): Promise<Requirements> {
  await requireRouting(db, 'An auto-allocated topology')
  const external = await defaultExternalNetwork(db)
  if (external === undefined) throw unmet('No default router:external network')
  const found = [await defaultSubnetPool(db, 4), await defaultSubnetPool(db, 6)]
  const pools = found.filter((pool) => pool !== undefined)
  if (pools.length === 0) throw unmet('No default subnetpools defined')
  return { external, pools }
}

interface Plan extends Requirements {
  readonly networks: Networks
  readonly projectId: string
}

/** The new network, or undefined if the project has one by then. */
async function build(
  tx: Tx,
  { networks, projectId, external, pools }: Plan,
): Promise<string | undefined> {
  const requester = { projectId, isAdmin: false }
  const planned = newNetwork(networks, requester, { name: 'auto_allocated_network' })
  const router = newRouter(networks, requester, { name: 'auto_allocated_router' })
  const topology = { projectId, networkId: planned.id, routerId: router.id }
  if (!(await insertAutoTopology(tx, topology))) return undefined
  const network = await placeNetwork(tx, planned)
  const info = { network_id: external.id }
  await placeRouter(tx, { networks, requester, router, info })
  try {
    for (const { id, ipVersion } of pools) {
      const name = `auto_allocated_subnet_v${ipVersion}`
      const draft = { network_id: network.id, name, ip_version: ipVersion, subnetpool_id: id }
      const subnet = await placeSubnet(tx, plannedSubnet(networks, projectId, draft, id))
      await addSubnet(tx, networks, router.id, subnet)
    }
  } catch (error) {
    if (!isFailure(error, 'conflict', 'invalid', 'not-found')) throw error
    throw unmet('Unable to provide project private network', error)
  }
  return network.id
}

/** Afterwards the project has no such topology. Throws `conflict` while its network has ports of others. */
export async function deleteAutoTopology(
  networks: Networks,
  requester: Requester,
  asked: string,
): Promise<void> {
  const topology = await findAutoTopology(networks.db, projectFor(requester, asked))
  if (topology === undefined) return
  const { networkId, routerId } = topology
  await networks.db.transaction(async (tx) => {
    const router = await lockRouter(tx, routerId)
    if (router !== undefined) {
      const attached = await attachedSubnets(tx, routerId)
      for (const [, ofPort] of Map.groupBy(attached, ({ portId }) => portId))
        await detach(tx, router, attached, ofPort)
      await dropRouter(tx, router)
    }
    const [network] = (await lockNetwork(tx, networkId)) ? await findNetworks(tx, [networkId]) : []
    if (network !== undefined) await dropNetwork(tx, network)
  })
}

function unmet(why: string, cause?: Error): NetworkFailure {
  return new NetworkFailure('conflict', 'AutoAllocationFailure', `Deployment error: ${why}.`, cause)
}
