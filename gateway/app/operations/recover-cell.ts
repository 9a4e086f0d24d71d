import { Failure, isFailure } from '#common/errors.ts'
import {
  beginCellRecovery,
  type CellRecovery,
  endCellRecovery,
  serversOfRecovery,
} from '../../db/cell-recoveries.ts'
import { changeMove, movesOf } from '../../db/drain-moves.ts'
import type { IdempotencyKey } from '../../db/idempotency-keys.ts'
import { noteProgress, type OperationRecord } from '../../db/operations.ts'
import { findRequestSpec } from '../../db/request-specs.ts'
import type { OperatedCell } from '../cells/operated-cells.ts'
import type { Compute } from '../compute.ts'
import { oncePerKey } from '../once-per-key.ts'
import type { RequestContext } from '../request-context.ts'
import type { BuildSpec } from '../servers/boot/build-spec.ts'
import { currentSpec } from '../servers/boot/current-spec.ts'
import { rebuildUnplaced } from '../servers/boot/rebuild-unplaced.ts'
import { showServer } from '../servers/list/show-server.ts'
import { BegunMove, NotBegun } from './begun-move.ts'
import { afterFailure } from './drain-plan.ts'
import { findOperation } from './operations.ts'
import { operatorOf } from './operator-of.ts'
import { imagesFor, type Recoverable } from './recovery-images.ts'
import {
  type LostServer,
  planRecovery,
  type Recovered,
  type RecoverySource,
} from './recovery-plan.ts'

/** More would be built in the next rounds. */
const SERVERS_MAX = 10_000
/** Each is looked at by itself. */
const LOOKED_AT_MAX = 1_000

export interface RecoveryRequest {
  readonly source: RecoverySource
  /** The most servers that are built at a time. */
  readonly parallel: number
  readonly reason: string | null
}

/**
 * Begins to build the servers of a lost cell again in other cells, or returns the operation that does so already, or did
 * under this key. Throws `conflict` for a cell that was not declared lost.
 */
export async function recoverCell(
  { db }: Compute,
  { userId, requestId }: RequestContext,
  cell: OperatedCell,
  { source, parallel, reason }: RecoveryRequest,
  key: IdempotencyKey | null,
): Promise<OperationRecord> {
  if (cell.loss === null && (await serversOfRecovery(db, cell.id, null, 1)).length === 0)
    throw new Failure(
      'conflict',
      `Cell ${cell.name} was not declared lost, and no server was taken from it. Declare it lost first.`,
    )
  const { operationId } = await oncePerKey(db, key, async (tx) => {
    const { id: cellId, name: subject } = cell
    const asked = { cellId, subject, source, parallel, reason, userId, requestId }
    return { operationId: await beginCellRecovery(tx, asked) }
  })
  return findOperation(db, operationId)
}

/** Takes a recovery one step further. */
export async function advanceRecovery(compute: Compute, recovery: CellRecovery): Promise<void> {
  const { db, clock } = compute
  const now = new Date(clock.now())
  // Read first: each server is then seen as it is since its build was begun, or later.
  const moves = await movesOf<RecoverySource>(db, recovery.id)
  const servers = await serversOfRecovery(db, recovery.subjectId, recovery.id, SERVERS_MAX)
  const known = new Map(moves.map((move) => [move.serverId, move]))
  const plan = planRecovery(servers, moves, now)
  for (const move of plan.changed) {
    await changeMove(db, recovery.id, known.get(move.serverId), move)
    known.set(move.serverId, move)
  }
  let { building } = plan
  const due = building < recovery.parallel ? plan.due.slice(0, LOOKED_AT_MAX) : []
  for await (const each of imagesFor(db, due, recovery.source)) {
    await begin(compute, recovery, each, known.get(each.server.id))
    // One that cannot be built takes the place of no other.
    if (each.image !== null) building += 1
    if (building >= recovery.parallel) break
  }
  await conclude(compute, recovery, building)
}

/** Afterwards the server is on its way to a cell, or waits, and says why. */
async function begin(
  compute: Compute,
  recovery: CellRecovery,
  { server, image, source, reason }: Recoverable,
  seen: Recovered | undefined,
): Promise<void> {
  const { db, clock } = compute
  const now = new Date(clock.now())
  const context = operatorOf(recovery)
  const tried: Recovered = {
    ...{ serverId: server.id, method: source, state: 'moving', tries: (seen?.tries ?? 0) + 1 },
    ...{
      reason: null,
      requestId: context.requestId,
      notBefore: null,
      startedAt: now,
      endedAt: null,
    },
  }
  if (image === null) {
    const cannot = afterFailure(tried, reason ?? '', 1, now)
    await changeMove(db, recovery.id, seen, cannot)
    return
  }
  const begun = new BegunMove(recovery, seen, tried)
  try {
    const snapshot = source === 'snapshot' ? image : undefined
    await rebuild(compute, { context, after: begun.after }, server, snapshot)
  } catch (error) {
    if (error instanceof NotBegun) return
    if (!isFailure(error)) throw error
    await changeMove(db, recovery.id, begun.kept, afterFailure(tried, error.message, 1, now))
  }
}

async function rebuild(
  compute: Compute,
  { context, after }: { readonly context: RequestContext; readonly after: BegunMove['after'] },
  { id }: LostServer,
  snapshot: BuildSpec['image'] | undefined,
): Promise<void> {
  const server = await showServer(compute.db, context, id)
  const request = await findRequestSpec(compute.db, id)
  if (request === undefined) throw new Failure('conflict', `Instance ${id} is being deleted.`)
  const { serverId: _, ...unplaced } = request
  const { flavor } = server
  const spec = { ...(await currentSpec(compute, compute.db, server.id, request.spec)), flavor }
  const savedDisk = snapshot && { image: snapshot, home: null }
  const wanted = { ...unplaced, spec, shown: {}, ...(savedDisk && { savedDisk }) }
  await rebuildUnplaced(compute, context, server, wanted, { after })
}

/** Notes how far the recovery is, and ends it when nothing is left that can be built. */
async function conclude(compute: Compute, recovery: CellRecovery, building: number): Promise<void> {
  const { db, operations } = compute
  const servers = await serversOfRecovery(db, recovery.subjectId, recovery.id, SERVERS_MAX)
  const remaining = servers.length
  const moves = await movesOf<RecoverySource>(db, recovery.id)
  const total = Math.max(recovery.total ?? 0, remaining, moves.length)
  const hopeless = moves.filter(({ state, method }) => state === 'waiting' && method === null)
  const waiting = moves.filter(({ state, reason }) => state === 'waiting' && reason !== null)
  const waits = waiting.find(({ method }) => method !== null) ?? waiting[0]
  const message = waits === undefined ? null : textOf(remaining, waits, servers)
  if (remaining !== recovery.remaining || total !== recovery.total || message !== recovery.message)
    await noteProgress(db, recovery.id, { total, remaining, message })
  if (building > 0 || remaining > hopeless.length) return
  const state = remaining === 0 ? 'done' : 'failed'
  if (await db.transaction((tx) => endCellRecovery(tx, recovery, state, message)))
    operations.notify(recovery.id)
}

function textOf(
  remaining: number,
  { serverId, method, reason }: Recovered,
  servers: readonly LostServer[],
): string {
  const name = servers.find(({ id }) => id === serverId)?.name ?? serverId
  const count = `${remaining} ${remaining === 1 ? 'server is' : 'servers are'} left.`
  return `${count} ${name} ${method === null ? 'cannot be built' : 'waits'}: ${reason}`
}
