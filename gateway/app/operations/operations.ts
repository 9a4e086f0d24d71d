import type { WorkContext } from '#common/context.ts'
import type { Executor, Transactional } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import { isUuid } from '#common/ids.ts'
import { continueSaga } from '#common/saga/log.ts'
import {
  CELL_RECOVERY,
  endCellRecovery,
  findCellRecovery,
  serversOfRecovery,
} from '../../db/cell-recoveries.ts'
import { findCellSaga, listCellSagas } from '../../db/cell-sagas.ts'
import { findServer } from '../../db/find-server.ts'
import { serversOnHosts } from '../../db/host-list.ts'
import {
  endDrain,
  findBegunOperation,
  findHostDrain,
  listBegunOperations,
  type OperationRecord,
  type OperationState,
} from '../../db/operations.ts'
import { continueRow, findStuckRow, listStuckRows } from '../../db/reconciler-rows.ts'
import { findSaga, listSagas } from '../../db/saga-operations.ts'
import { cancelServerMove, findServerMove, SERVER_MOVE } from '../../db/server-moves.ts'
import { cancelVolumeMove, VOLUME_MOVE } from '../../db/volume-moves.ts'
import type { Compute } from '../compute.ts'
import { isAllowed } from '../policy.ts'
import type { Caller } from '../request-context.ts'
import { continueInCell } from './cell-sagas.ts'

/** After every id there can be. */
const END = 'g'
const SERVERS_SHOWN_MAX = 100

export interface OperationPage {
  readonly operations: readonly OperationRecord[]
  /** Where the next page begins; null when this is the last. */
  readonly next: string | null
}

/**
 * The newest first: what operators began, sagas of gateways that are under way, and those of cells that are or were stuck.
 * Throws `invalid` for a cursor that is none.
 */
export async function operationPage(
  db: Executor,
  query: {
    readonly state?: OperationState | undefined
    readonly limit: number
    readonly cursor?: string | undefined
  },
): Promise<OperationPage> {
  const { state, limit, cursor } = query
  if (cursor !== undefined && !isUuid(cursor))
    throw new Failure('invalid', `Invalid cursor '${cursor}': take it from the page before.`)
  const before = cursor ?? END
  const begun = await listBegunOperations(db, before, limit + 1, state)
  const sagas =
    state === 'done' || state === 'cancelled'
      ? []
      : await Promise.all(
          [listSagas, listCellSagas, listStuckRows].map((list) =>
            list(db, before, limit + 1, state),
          ),
        )
  const found = [...begun, ...sagas.flat()].toSorted((a, b) => (a.id < b.id ? 1 : -1))
  const operations = found.slice(0, limit)
  return { operations, next: found.length > limit ? (operations.at(-1)?.id ?? null) : null }
}

/** Throws `not-found`. */
export async function findOperation(db: Executor, id: string): Promise<OperationRecord> {
  const found = isUuid(id)
    ? ((await findServerMove(db, id)) ??
      (await findBegunOperation(db, id)) ??
      (await findSaga(db, id)) ??
      (await findCellSaga(db, id)) ??
      (await findStuckRow(db, id)))
    : undefined
  if (found === undefined) throw unknownOperation(id)
  return found
}

function unknownOperation(id: string): Failure {
  return new Failure('not-found', `There is no operation with id ${id}.`)
}

/** The rules for operations on other things than the user's own servers. */
const OF_OTHERS = {
  show: 'federation:operations:show:other',
  cancel: 'federation:operations:cancel:other',
} as const

/**
 * The operation, if the caller may do this with it: users with moves of their own servers only. Throws `not-found`.
 */
async function findOwnOperation(
  db: Executor,
  caller: Caller,
  id: string,
  what: keyof typeof OF_OTHERS,
): Promise<OperationRecord> {
  const operation = await findOperation(db, id)
  if (isAllowed(caller, OF_OTHERS[what])) return operation
  const server =
    operation.kind === SERVER_MOVE ? await findServer(db, operation.subjectId) : undefined
  if (server === undefined || server.projectId !== caller.projectId) throw unknownOperation(id)
  return operation
}

/** The operation once it has ended, or as it is after so many seconds. Throws `not-found`. */
export async function awaitOperation(
  { db, operations }: Pick<Compute, 'db' | 'operations'>,
  caller: Caller,
  id: string,
  seconds: number,
  signal: AbortSignal,
): Promise<OperationRecord> {
  const operation = await findOwnOperation(db, caller, id, 'show')
  if (operation.endedAt !== null || seconds === 0) return operation
  await operations.ended(id, AbortSignal.any([signal, AbortSignal.timeout(1_000 * seconds)]))
  return findOperation(db, id)
}

/** Ids of servers, at most a hundred, that the operation still has to see gone from where they were, or built. */
export async function serversLeft(
  db: Executor,
  { id: operationId, kind, subjectId, state }: OperationRecord,
): Promise<readonly string[]> {
  if (state !== 'running') return []
  if (kind === SERVER_MOVE) return [subjectId]
  const servers =
    kind === CELL_RECOVERY
      ? await serversOfRecovery(db, subjectId, operationId, SERVERS_SHOWN_MAX)
      : ((await serversOnHosts(db, [subjectId])).get(subjectId) ?? [])
  return servers.slice(0, SERVERS_SHOWN_MAX).map(({ id }) => id)
}

/**
 * Afterwards a stuck operation is due again, and a gateway, or its cell, takes it up within a second. Throws `not-found`,
 * `conflict` for one that is not stuck, and `unavailable` where its cell does not answer.
 */
export async function continueOperation(
  compute: Compute,
  id: string,
  work: WorkContext,
): Promise<OperationRecord> {
  const { db, sagas } = compute
  const { kind } = await findOperation(db, id)
  if (await continueSaga(db, id)) await sagas.recover()
  else if (!(await continueRow(db, id)) && !(await continueInCell(compute, id, work))) {
    const { state } = await findOperation(db, id)
    throw new Failure('conflict', `Operation ${id} (${kind}) is not stuck: it is ${state}.`)
  }
  return findOperation(db, id)
}

/** Afterwards the server stays in its cell, or is brought back to where it was there. Throws `conflict` once it has left. */
async function cancelMove(db: Transactional, id: string): Promise<OperationRecord> {
  if (!(await db.transaction((tx) => cancelServerMove(tx, id)))) {
    const { endedAt } = await findOperation(db, id)
    const why =
      endedAt === null
        ? 'cannot be cancelled any more: the server has left its cell. Move it back when it is done.'
        : 'has ended already.'
    throw new Failure('conflict', `Operation ${id} ${why}`)
  }
  return findOperation(db, id)
}

/** Afterwards the volume stays in its cell, and the operation ends soon. Throws `conflict` once it has ended. */
async function cancelMoveOfVolume(db: Transactional, id: string): Promise<OperationRecord> {
  if (!(await db.transaction((tx) => cancelVolumeMove(tx, id))))
    throw new Failure('conflict', `Operation ${id} has ended already.`)
  return findOperation(db, id)
}

/**
 * Afterwards it does not go on; what it did stays done. Throws `not-found`, and `conflict` for what has ended
 * otherwise, or is a saga, which comes to its end by itself.
 */
export async function cancelOperation(
  { db, operations }: Pick<Compute, 'db' | 'operations'>,
  caller: Caller,
  id: string,
): Promise<OperationRecord> {
  const { kind, state } = await findOwnOperation(db, caller, id, 'cancel')
  if (kind === SERVER_MOVE) return cancelMove(db, id)
  if (kind === VOLUME_MOVE) return cancelMoveOfVolume(db, id)
  const drain = await findHostDrain(db, id)
  const recovery = await findCellRecovery(db, id)
  if (drain === undefined && recovery === undefined)
    throw new Failure(
      'conflict',
      `Operation ${id} (${kind}) cannot be cancelled: it ends without help, or is undone.`,
    )
  const isEnded =
    state !== 'cancelled' &&
    !(await db.transaction((tx) =>
      drain === undefined
        ? endCellRecovery(tx, recovery!, 'cancelled', null)
        : endDrain(tx, drain, 'cancelled', null),
    ))
  if (isEnded) throw new Failure('conflict', `Operation ${id} has ended already.`)
  operations.notify(id)
  return findOperation(db, id)
}
