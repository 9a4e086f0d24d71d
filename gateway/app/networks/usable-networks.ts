import { Failure, isFailure } from '#common/errors.ts'
import type { Network } from '../../db/network.ts'
import type { Requester } from '../requester.ts'
import { listNetworks } from './list-networks.ts'
import type { Networks } from './networks.ts'
import { visibleNetwork } from './visible.ts'

/** The networks the requester may see, as many as one page holds. */
export async function usableNetworks(
  networks: Networks,
  requester: Requester,
): Promise<readonly Network[]> {
  return (await listNetworks(networks, requester, [])).items
}

/** One of them; throws `not-found` in Nova's words. */
export async function usableNetwork(
  networks: Networks,
  requester: Requester,
  id: string,
): Promise<Network> {
  try {
    return await visibleNetwork(networks, requester, id)
  } catch (error) {
    if (!isFailure(error, 'not-found')) throw error
    throw new Failure('not-found', 'Network not found', { cause: error })
  }
}
