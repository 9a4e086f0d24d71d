import type { Tx } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import type { CellId } from '#common/ids.ts'
import type { FirstTransaction } from '#common/saga/execution.ts'
import type { Cell } from '../../cell-client/cell.ts'
import type { IdempotencyKey } from '../../db/idempotency-keys.ts'
import type { OperationRecord } from '../../db/operations.ts'
import { findRequestSpec } from '../../db/request-specs.ts'
import { beginServerMove, runningMoveOf, type ServerMoveRecord } from '../../db/server-moves.ts'
import { findOperatedCell } from '../cells/operated-cells.ts'
import type { Compute } from '../compute.ts'
import { reachable } from '../hosts/host-state.ts'
import { oncePerKey } from '../once-per-key.ts'
import { whyNotMovable } from '../placement-policies/users-may-move.ts'
import type { RequestContext } from '../request-context.ts'
import { chooseForServer } from '../sagas/choose-for-server.ts'
import { mayLeaveCell } from '../server-groups/members.ts'
import { whyNoCell } from '../servers/boot/faults.ts'
import type { ServerRecord } from '../servers/list/server-record.ts'
import { showServer } from '../servers/list/show-server.ts'
import { cellsWithRoom, volumesOf, whyNotAlong } from '../volumes/carried.ts'
import { findOperation } from './operations.ts'

export interface MoveToCell extends Pick<FirstTransaction, 'after'> {
  /** Its id or name; null: any other cell that can take the server. */
  readonly to: string | null
  readonly reason: string | null
}

type Destination = { readonly id: CellId; readonly name: string } | null

/**
 * Begins to move a server to another cell, or returns the operation that does so already, or did under this key. Throws
 * `not-found`; `forbidden` for a user whose placement policy does not let them; `conflict` for a server that cannot be
 * moved now, or that no such cell can take; `unavailable` while its own cell is unreachable; and what `after` throws, which
 * commits together with the beginning.
 */
export async function moveToCell(
  compute: Compute,
  context: RequestContext,
  id: string,
  { to: wanted, reason, after }: MoveToCell,
  key: IdempotencyKey | null = null,
): Promise<OperationRecord> {
  const { db, cells } = compute
  const server = await showServer(db, context, id)
  const why = await whyNotMovable(compute, context, server)
  if (why !== undefined) throw new Failure('forbidden', `Server ${id} cannot be moved: ${why}`)
  const to = wanted === null ? null : await findOperatedCell(db, cells, wanted)
  const { operationId } = await oncePerKey(db, key, async (tx) => {
    const begun = await begin(tx, compute, context, { server, to, reason })
    await after?.(tx)
    return { operationId: begun }
  })
  return findOperation(db, operationId)
}

/** The id of the operation that moves the server: a new one, unless one was running. */
async function begin(
  tx: Tx,
  compute: Compute,
  { userId, requestId }: RequestContext,
  wanted: {
    readonly server: ServerRecord
    readonly to: Destination
    readonly reason: string | null
  },
): Promise<string> {
  const { server, to, reason } = wanted
  const running = await runningMoveOf(tx, server.id)
  if (running !== undefined) return sameMove(running, server, to)
  const { cellId, formerState, chosen, hasVolumes } = await plannedMove(tx, compute, server, to)
  // It is fixed for a server with volumes, which go there first.
  const toCellId = hasVolumes ? chosen.id : (to?.id ?? null)
  return beginServerMove(tx, {
    ...{ subjectId: server.id, subject: server.name, cellId, formerState, reason },
    ...{ toCellId, userId, requestId },
  })
}

export interface PlannedMove {
  readonly cellId: CellId
  readonly formerState: 'active' | 'stopped'
  /** The cell that can take the server, if it went now. */
  readonly chosen: Cell
  readonly hasVolumes: boolean
}

/** How the server would be moved. Throws `conflict`, with the reasons, for one that cannot be, and `unavailable` while its cell is unreachable. */
export async function plannedMove(
  tx: Tx,
  compute: Compute,
  server: ServerRecord,
  to: Destination,
): Promise<PlannedMove> {
  const from = movable(server, to)
  reachable(compute.cells.cell(from.cellId))
  return { ...from, ...(await destination(tx, compute, server, to)) }
}

function sameMove(
  { id, toCellId }: Pick<ServerMoveRecord, 'id' | 'toCellId'>,
  server: ServerRecord,
  to: Destination,
): string {
  if (to === null || to.id === toCellId) return id
  throw refusal(server, `operation ${id} moves it elsewhere. Cancel that first.`)
}

/** Throws `conflict` for a server that is in no state to be moved. */
function movable(
  server: ServerRecord,
  to: Destination,
): { readonly cellId: CellId; readonly formerState: 'active' | 'stopped' } {
  const { cellId, vmState, taskState } = server
  if (cellId === null) throw refusal(server, 'it is in no cell. Rebuild or delete it.')
  if (cellId === to?.id) throw refusal(server, `it is in cell ${to.name}. Name another cell.`)
  if (taskState !== null)
    throw refusal(server, `it is ${taskState}. Repeat the request once that is over.`)
  if (vmState !== 'active' && vmState !== 'stopped')
    throw refusal(server, `it is ${vmState}. Only active and stopped servers change cells.`)
  return { cellId, formerState: vmState }
}

/** The cell that can take the server, with its volumes. Throws `conflict`, with the reasons, where none can: it is not stopped in vain. */
async function destination(
  tx: Tx,
  compute: Compute,
  server: ServerRecord,
  to: Destination,
): Promise<Pick<PlannedMove, 'chosen' | 'hasVolumes'>> {
  const { id: serverId, projectId, cellId, flavor } = server
  const request = await findRequestSpec(tx, serverId)
  if (request === undefined) throw refusal(server, 'it is being deleted.')
  const { savedDisk: _before, ...rest } = request.spec
  const spec = { ...rest, flavor, requestedHost: null }
  if (!(await mayLeaveCell(tx, spec.group, serverId)))
    throw refusal(server, 'other servers of its affinity group are in its cell.')
  const volumes = await volumesOf(tx, serverId)
  const why = await whyNotAlong(tx, serverId, volumes)
  if (why !== undefined) throw refusal(server, why)
  const all = compute.cells.cells()
  const others = all.filter(({ id }) => id !== cellId && (to === null || id === to.id))
  if (others.length === 0) throw refusal(server, 'there is no other cell.')
  const { cells, reason } = cellsWithRoom(others, volumes)
  if (cells.length === 0) throw refusal(server, `its volumes cannot go along: ${reason}.`)
  const placing = { serverId, projectId, spec, cells, tried: [], group: null }
  const { chosen, trace } = await chooseForServer(tx, compute, placing)
  if (chosen === undefined) throw refusal(server, whyNoCell(trace))
  return { chosen, hasVolumes: volumes.length > 0 }
}

function refusal({ id }: ServerRecord, why: string): Failure {
  return new Failure('conflict', `Server ${id} cannot be moved: ${why}`)
}
