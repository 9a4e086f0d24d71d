import type { WorkContext } from '#common/context.ts'
import { Failure } from '#common/errors.ts'
import { isUuid, newId } from '#common/ids.ts'
import type { InstanceView } from '#openapi/wire/instance.ts'
import { knownServers } from '../../db/known-servers.ts'
import type { OperatedCell } from '../cells/operated-cells.ts'
import type { ComputeDeps } from '../compute.ts'
import { reachable } from '../hosts/host-state.ts'

type OrphanDeps = Pick<ComputeDeps, 'db' | 'askCell' | 'log'>

const PAGE_ROWS = 500
const ORPHANS_MAX = 1_000

/**
 * Servers that the cell has, of which the gateways know nothing, at most a thousand: they were restored from a backup that is
 * older. Throws `unavailable` where the cell cannot be asked.
 */
export async function listOrphans(
  { db, askCell }: OrphanDeps,
  work: WorkContext,
  { reported }: OperatedCell,
): Promise<readonly InstanceView[]> {
  const cell = reachable(reported)
  const orphans: InstanceView[] = []
  for (let afterInstance: string | null = null; orphans.length < ORPHANS_MAX; ) {
    const ask: { afterInstance: string | null; limit: number } = {
      afterInstance,
      limit: PAGE_ROWS,
    }
    const { instances, isLast } = await askCell(cell, 'snapshot.read', ask, { work })
    const ids = instances.map(({ serverId }) => serverId)
    const known = await knownServers(db, ids)
    orphans.push(...instances.filter(({ serverId }) => !known.has(serverId)))
    if (isLast) break
    afterInstance = ids.at(-1) ?? null
  }
  return orphans.slice(0, ORPHANS_MAX)
}

/**
 * Afterwards the cell ends the server, and gives back what it holds. Throws `conflict` for one that is known here, `not-found`
 * for one that the cell does not have, `unavailable` where it cannot be asked.
 */
export async function endOrphan(
  { db, askCell, log }: OrphanDeps,
  work: WorkContext,
  { reported }: OperatedCell,
  serverId: string,
): Promise<void> {
  const cell = reachable(reported)
  if ((await knownServers(db, [serverId])).has(serverId))
    throw new Failure('conflict', `Server ${serverId} is a project's: delete it as such.`)
  if (!isUuid(serverId)) throw noOrphan(cell.name, serverId)
  const { view } = await askCell(cell, 'instance.audit', { serverId }, { work })
  if (view === null) throw noOrphan(cell.name, serverId)
  const operation = { id: newId<string>(), serverId, attempt: view.attempt }
  await askCell(cell, 'instance.delete', { operation }, { work })
  log.warn({ cell: cell.name, server_id: serverId }, 'orphan ended')
}

/** With what tells which there are. */
export function noOrphan(cell: string, serverId: string): Failure {
  return new Failure(
    'not-found',
    `Cell ${cell} has no orphan ${serverId}. See: ./weir cell orphans ${cell}`,
  )
}
