import { workContext } from '#common/context.ts'
import { newId } from '#common/ids.ts'
import type { InstanceView } from '#openapi/wire/instance.ts'
import type { CellRef } from '../../cell-client/client.ts'
import { currentAttempts } from '../../db/lost-cells.ts'
import type { ComputeDeps } from '../compute.ts'

const PAGE_ROWS = 500
/** The servers left then are for the next round. */
const PAGES_MAX = 20

/**
 * Asks a cell that is back to destroy every server of which it holds another attempt than the current one, or that
 * belongs to another cell or to none. True when the cell holds no such server any more. Throws `unavailable` when it
 * does not answer.
 */
export async function clearReturned(deps: ComputeDeps, cell: CellRef): Promise<boolean> {
  let after: string | null = null
  let stale = 0
  for (let pages = 0; pages < PAGES_MAX; pages += 1) {
    const ask: { afterInstance: string | null; limit: number } = {
      afterInstance: after,
      limit: PAGE_ROWS,
    }
    const page = await deps.askCell(cell, 'snapshot.read', ask, { work: workContext({}) })
    stale += await destroyStale(deps, cell, page.instances)
    if (page.isLast) return stale === 0
    after = page.instances.at(-1)!.serverId
  }
  return false
}

async function destroyStale(
  deps: ComputeDeps,
  cell: CellRef,
  instances: readonly InstanceView[],
): Promise<number> {
  const ids = instances.map(({ serverId }) => serverId)
  const current = await currentAttempts(deps.db, cell.id, ids)
  const stale = instances.filter(({ serverId, attempt }) => current.get(serverId) !== attempt)
  for (const { serverId, attempt } of stale) {
    const operation = { id: newId<string>(), serverId, attempt }
    await deps.askCell(cell, 'instance.delete', { operation }, { work: workContext({}) })
  }
  return stale.length
}
