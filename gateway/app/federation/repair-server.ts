import { queueEvents } from '../../db/event-inbox.ts'
import { findServer } from '../../db/find-server.ts'
import { findMapping, lockMapping } from '../../db/instance-mappings.ts'
import { queueViews } from '../../db/server-index.ts'
import type { ComputeDeps } from '../compute.ts'
import { stateEvent } from '../feed/state-event.ts'
import { reachable } from '../hosts/host-state.ts'
import type { RequestContext } from '../request-context.ts'
import { type VerifiedServer, verifyServer } from './verify-server.ts'

/**
 * Afterwards the gateways show the server as its cell reports it; nothing else is changed, since reconcilers repair
 * quotas, allocations and guests. Returns the findings that are left. Throws `not-found`.
 */
export async function repairServer(
  deps: ComputeDeps,
  context: RequestContext,
  id: string,
): Promise<VerifiedServer> {
  const before = await verifyServer(deps, context, id)
  const isOff = before.findings.some(({ check, result }) => check === 'cell' && result === 'failed')
  const { serverId } = before
  const cellId = (await findMapping(deps.db, serverId))?.cellId ?? null
  if (!isOff || cellId === null) return before
  const isRepaired = await showAsInCell(deps, context, { serverId, cellId })
  return isRepaired ? verifyServer(deps, context, id) : before
}

/** False where the cell has no such server at the attempt it is mapped at, or the gateways show a newer state. */
async function showAsInCell(
  { db, cells, askCell, network, log }: ComputeDeps,
  work: RequestContext,
  { serverId, cellId }: { readonly serverId: string; readonly cellId: string },
): Promise<boolean> {
  const cell = reachable(cells.cell(cellId))
  const { view } = await askCell(cell, 'instance.audit', { serverId }, { work })
  if (view === null) return false
  return db.transaction(async (tx) => {
    const mapping = await lockMapping(tx, serverId)
    const shown = await findServer(tx, serverId)
    const isSame = mapping?.cellId === cell.id && mapping.attempt === view.attempt
    if (!isSame || shown === undefined || shown.version > view.version) return false
    queueViews(tx, cell.id, [view], 'resync')
    await network.bind(tx, cell.id, [view])
    queueEvents(tx, [stateEvent(view)])
    log.warn({ server_id: serverId, cell: cell.name }, 'shown state repaired')
    return true
  })
}
