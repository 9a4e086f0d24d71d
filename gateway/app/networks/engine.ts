import type { Executor } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import { isAnyHostAbleTo } from '../../db/host-capability.ts'
import { type RoutingHost, routingHosts } from '../../db/routing-hosts.ts'

/** The capability of a host whose cell connects ports by OVN. */
export const OVN = 'network-ovn'

/** The capability of a host whose backend has routers of its own, such as a nested cloud. */
export const ROUTING = 'routing'

/** True if some cell is known to connect its ports by OVN. */
function hasNetworkEngine(db: Executor): Promise<boolean> {
  return isAnyHostAbleTo(db, OVN)
}

/** Throws `unsupported` if no cell has a network engine that could give the request effect; `what` begins the sentence. */
export async function requireNetworkEngine(db: Executor, what: string): Promise<void> {
  if (await hasNetworkEngine(db)) return
  throw new Failure(
    'unsupported',
    `${what} would have no effect: no cell of this cloud has the network engine OVN. Ask the operator to set it up in a cell first.`,
  )
}

/** What has effect in some cell: all that OVN does, or at least routers and floating IPs, also in clouds that are hosts. */
export async function networkOffers(
  db: Executor,
): Promise<{ readonly hasEngine: boolean; readonly hasRouting: boolean }> {
  const hasEngine = await hasNetworkEngine(db)
  return { hasEngine, hasRouting: hasEngine || (await routingHosts(db)).some(leadsOut) }
}

/** Throws `unsupported` if routers have no effect anywhere, with the reasons of the hosts that could have them; `what` begins the sentence. */
export async function requireRouting(db: Executor, what: string): Promise<void> {
  if (await hasNetworkEngine(db)) return
  const hosts = await routingHosts(db)
  if (hosts.some(leadsOut)) return
  const reasons = hosts.map(
    ({ name, problem }) => ` Host ${name} cannot route: ${problem ?? NO_WAY_OUT}`,
  )
  throw new Failure(
    'unsupported',
    `${what} would have no effect: no cell of this cloud has the network engine OVN. Ask the operator to set it up in a cell first.${reasons.join('')}`,
  )
}

const NO_WAY_OUT = 'It has no external network.'

function leadsOut({ problem, externalNetworks }: RoutingHost): boolean {
  return problem === null && externalNetworks.length > 0
}
