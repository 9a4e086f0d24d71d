import { Failure, isFailure } from '#common/errors.ts'
import type { FloatingIp } from '../../db/floating-ips.ts'
import type { Network } from '../../db/network.ts'
import { findNetworks } from '../../db/networks.ts'
import type { Requester } from '../requester.ts'
import {
  createFloatingIps,
  deleteFloatingIp,
  listFloatingIps,
  ownFloatingIp,
} from './floating-ips.ts'
import { listNetworks, type Networks } from './list-networks.ts'
import { NO_PROJECT } from './service-ports.ts'

/** A floating IP as Compute showed it below 2.36: its pool is the external network, by name. */
export interface ProxiedFloatingIp {
  readonly ip: FloatingIp
  readonly pool: string
}

/** The floating IPs of the requester's project, or all for an administrator without a project; at most one page. */
export async function proxiedFloatingIps(
  networks: Networks,
  requester: Requester,
): Promise<readonly ProxiedFloatingIp[]> {
  const { projectId } = requester
  const own = projectId === null ? [] : ([['project_id', projectId]] as const)
  const { items } = await listFloatingIps(networks, requester, own)
  return withPools(networks, items)
}

/** One of them; throws `not-found` in Nova's words. */
export async function proxiedFloatingIp(
  networks: Networks,
  requester: Requester,
  id: string,
): Promise<ProxiedFloatingIp> {
  const ip = await ownFloatingIp(networks, requester, id).catch(asNovaSays(id))
  return (await withPools(networks, [ip]))[0]!
}

/** The external networks that the requester sees. */
export async function floatingIpPools(
  networks: Networks,
  requester: Requester,
): Promise<readonly string[]> {
  return (await externalNetworks(networks, requester)).map(poolOf)
}

/**
 * Afterwards the project has an address of the pool, or of the only one. Throws, as Nova does, `not-found` for a
 * missing pool or one without a free address, `over-quota`.
 */
export async function takeProxiedFloatingIp(
  networks: Networks,
  requester: Requester,
  pool: string | null,
): Promise<ProxiedFloatingIp> {
  const all = await externalNetworks(networks, requester)
  const [network, second] = all.filter(({ id, name }) => {
    return pool === null || id === pool || name === pool
  })
  if (network === undefined || second !== undefined)
    throw new Failure('not-found', 'Floating IP pool not found.')
  try {
    const [ip] = await createFloatingIps(networks, requester, [{ floating_network_id: network.id }])
    return { ip: ip!, pool: poolOf(network) }
  } catch (error) {
    if (isFailure(error, 'conflict'))
      throw new Failure('not-found', `No more floating IPs in pool ${poolOf(network)}.`, {
        cause: error,
      })
    if (isFailure(error, 'over-quota'))
      throw new Failure('over-quota', `IP allocation over quota in pool ${poolOf(network)}.`, {
        cause: error,
      })
    throw error
  }
}

/** Afterwards the project does not have it. Throws `not-found` in Nova's words. */
export async function returnProxiedFloatingIp(
  networks: Networks,
  requester: Requester,
  id: string,
): Promise<void> {
  await deleteFloatingIp(networks, requester, id).catch(asNovaSays(id))
}

async function externalNetworks(
  networks: Networks,
  requester: Requester,
): Promise<readonly Network[]> {
  // These are visible to all callers, also to one that belongs to no project.
  const seen = { ...requester, projectId: requester.projectId ?? NO_PROJECT }
  return (await listNetworks(networks, seen, [['router:external', 'true']])).items
}

async function withPools(
  { db }: Networks,
  ips: readonly FloatingIp[],
): Promise<readonly ProxiedFloatingIp[]> {
  const found = await findNetworks(db, [...new Set(ips.map(({ networkId }) => networkId))])
  const pools = new Map(found.map((network) => [network.id, poolOf(network)]))
  return ips.map((ip) => ({ ip, pool: pools.get(ip.networkId) ?? ip.networkId }))
}

function poolOf({ id, name }: Network): string {
  return name === '' ? id : name
}

function asNovaSays(id: string): (error: unknown) => never {
  return (error) => {
    if (!isFailure(error, 'not-found')) throw error
    throw new Failure('not-found', `Floating IP not found for ID ${id}`, { cause: error })
  }
}
