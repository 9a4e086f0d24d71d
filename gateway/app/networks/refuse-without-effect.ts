import { Failure } from '#common/errors.ts'
import { findServer } from '../../db/find-server.ts'
import { hostFiltersNothing } from '../../db/host-capability.ts'
import type { Networks } from './list-networks.ts'

/**
 * Throws `invalid` if the server is on a host that does not enforce security groups: users would rely on a group that has
 * no effect.
 */
export async function refuseWithoutEffect({ db }: Networks, serverId: string): Promise<void> {
  const { cellId = null, hostId = null } = (await findServer(db, serverId)) ?? {}
  if (cellId === null || hostId === null || !(await hostFiltersNothing(db, cellId, hostId))) return
  throw new Failure(
    'invalid',
    'Security groups have no effect on the host of this server, so none can be added to the server.',
  )
}
