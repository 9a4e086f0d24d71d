import type { Executor } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import { isAnyHostAbleTo } from '../../db/host-capability.ts'

/** The capability of a host whose cell connects ports by OVN. */
export const OVN = 'network-ovn'

/** True if some cell is known to connect its ports by OVN: only then do routers and floating IPs have effect. */
export function hasNetworkEngine(db: Executor): Promise<boolean> {
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
