import type { Executor } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import { isAnyHostAbleTo } from '../../db/host-capability.ts'

/** What a host's capabilities name where its cell joins ports by OVN. */
export const OVN = 'network-ovn'

/** True while some cell joins its ports by OVN, as far as is known: only then do routers and what goes with them have effect. */
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
