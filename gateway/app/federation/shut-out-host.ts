import type { Transactional } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import type { CellAccess } from '../../cell-client/cell-access.ts'
import { countHostKeys, shutOutHostKeys } from '../../db/bus-keys.ts'
import type { HostRecord } from '../../db/host-list.ts'

/**
 * Afterwards the bus refuses every key of the host, and its connections are closed. Repeating it is harmless. Throws
 * `conflict` for a host whose keys are unknown to the gateways because it is on the bus of a cell elsewhere,
 * `unsupported` where this gateway cannot revoke credentials, and `unavailable` when the bus does not answer: a
 * reconciler then pushes it.
 */
export async function shutOutHost(
  db: Transactional,
  access: CellAccess,
  { view }: HostRecord,
): Promise<void> {
  access.require()
  if ((await countHostKeys(db, view.hostId)) === 0)
    throw new Failure(
      'conflict',
      `Host ${view.name} is on the bus of its own cell, on the cell's machine: this deployment signed no credential for it. Remove its file from secrets/ there, or let the whole cell leave.`,
    )
  await db.transaction((tx) => shutOutHostKeys(tx, view.hostId))
  await access.keep()
}
