import type { HostId, InstanceId } from '#common/ids.ts'
import type { CellAnswer, CellAsk } from '#openapi/wire/cell.ts'
import type { Cell } from '../cell.ts'
import { instanceView } from '../conductor/instance.ts'
import { findInstance } from '../db/instances.ts'
import { heldBy } from '../placement/release.ts'

/** What the cell has written down of a server: its row, what it was built from, and the hosts on which room is held for it. */
export async function instanceAudit(
  { conductor: { db, builds } }: Cell,
  { serverId, withRecord }: CellAsk<'instance.audit'>,
): Promise<CellAnswer<'instance.audit'>> {
  const instance = await findInstance(db, serverId as InstanceId)
  const held = await heldBy(db, serverId)
  const hosts = new Set<HostId>(held.map(({ provider_id: hostId }) => hostId))
  const record =
    withRecord === true && instance !== undefined ? await builds.record(db, instance) : undefined
  return {
    ...(record !== undefined && { record }),
    view: instance === undefined ? null : instanceView(instance),
    heldOn: [...hosts],
  }
}
