import type { HostId, InstanceId } from '#common/ids.ts'
import type { CellAnswer, CellAsk } from '#openapi/wire/cell.ts'
import type { Cell } from '../cell.ts'
import { instanceView } from '../conductor/instance.ts'
import { findInstance } from '../db/instances.ts'
import { heldBy } from '../placement/release.ts'

/** What the cell has written down of a server: its row, and the hosts on which room is held for it. */
export async function instanceAudit(
  { conductor: { db } }: Cell,
  { serverId }: CellAsk<'instance.audit'>,
): Promise<CellAnswer<'instance.audit'>> {
  const instance = await findInstance(db, serverId as InstanceId)
  const held = await heldBy(db, serverId)
  const hosts = new Set<HostId>(held.map(({ provider_id: hostId }) => hostId))
  return {
    view: instance === undefined ? null : instanceView(instance),
    heldOn: [...hosts],
  }
}
