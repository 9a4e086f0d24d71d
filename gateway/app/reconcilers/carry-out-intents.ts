import type { Tx } from '#common/db/database.ts'
import { Failure, isFailure } from '#common/errors.ts'
import { newId } from '#common/ids.ts'
import { errorFields } from '#common/log.ts'
import type { SagaRun } from '#common/saga/engine.ts'
import { HeldLease } from '#common/saga/lease.ts'
import { readFailure } from '#common/saga/log.ts'
import { settledWithin } from '#common/settled-within.ts'
import { SERVER_ACTIONS } from '#common/states/server-actions.ts'
import { queueActionEvents } from '../../db/server-actions.ts'
import { type DueIntent, dueIntents, removeIntent } from '../../db/server-intents.ts'
import type { Compute } from '../compute.ts'
import { endIntent } from '../intents/intents.ts'
import { actOnServerSaga } from '../sagas/act-on-server.ts'
import { deleteServerSaga } from '../sagas/delete-server.ts'
import type { RowReconciler } from './row-reconciler.ts'

/** The longest time between rounds; new intents wake it earlier. */
const EVERY_MS = 10_000
const LEASE_NAME = 'intents'
const LEASE_TTL_MS = 5_000
/** Begun together: a cell that is back is not asked everything at once. */
const BATCH_MAX = 50
/** While a slower cell carries out its intents, the next cell gets its own. */
const WAIT_MS = 2_000

/**
 * Asks a cell that is reachable again to carry out the intents of its servers, in the order of the requests, each
 * once: an intent is removed in the transaction that begins its saga.
 */
export function carryOutIntents(compute: Compute, processName: string): RowReconciler<DueIntent> {
  const { db, cells, clock } = compute
  const terms = { name: LEASE_NAME, holder: processName, ttlMs: LEASE_TTL_MS }
  const lease = new HeldLease(db, clock, terms)
  const ends: Promise<void>[] = []
  return {
    name: 'intents',
    everyMs: EVERY_MS,
    due: async () => {
      if ((await lease.hold()) === undefined) return []
      const unreachable = cells.cells().filter(({ isReachable }) => !isReachable)
      return dueIntents(
        db,
        unreachable.map(({ id }) => id),
        BATCH_MAX,
      )
    },
    keyOf: ({ id }) => id,
    work: async (intent) => {
      const run = await begin(compute, intent)
      if (run !== undefined) ends.push(recordEnd(compute, intent, run))
    },
    setAside: (intent) => giveUp(compute, intent),
    after: async () => {
      await settledWithin(clock, WAIT_MS, Promise.all(ends.splice(0)))
    },
  }
}

/**
 * Undefined when nothing is begun: another gateway was quicker, or nothing can be done. An intent at which this fails
 * for a reason of its own is given up: those behind it must not wait for ever.
 */
async function begin(compute: Compute, intent: DueIntent): Promise<SagaRun | undefined> {
  try {
    if (intent.action === 'delete') return await beginDelete(compute, intent)
    if (intent.cellId === null) return await giveUp(compute, intent)
    return await beginAct(compute, intent)
  } catch (error) {
    if (intent.action === 'delete' && isFailure(error, 'not-found')) return isGone(compute, intent)
    if (isFailure(error, 'conflict', 'not-found')) return undefined
    if (isFailure(error)) throw error
    const { serverId, action } = intent
    compute.log.error({ server_id: serverId, action, ...errorFields(error) }, 'intent given up')
    return giveUp(compute, intent)
  }
}

/** Of two deletes at once the other was quicker: what this one wanted is so. */
async function isGone({ db }: Compute, intent: DueIntent): Promise<undefined> {
  await db.transaction((tx) => removeIntent(tx, intent))
}

function beginDelete({ sagas }: Compute, intent: DueIntent): Promise<SagaRun> {
  const { serverId, userId, projectId, work, hostId } = intent
  const params = {
    serverId,
    operationId: newId<string>(),
    requester: { userId, projectId },
    ...(hostId !== null && { hostId }),
  }
  const before = (tx: Tx) => takeIntent(tx, intent)
  return sagas.start(deleteServerSaga, { subject: serverId, params, work, before })
}

function beginAct({ sagas }: Compute, intent: DueIntent): Promise<SagaRun> {
  const { serverId, userId, projectId, work, action, attempt } = intent
  const params = {
    serverId,
    cellId: intent.cellId!,
    attempt: attempt!,
    operationId: newId<string>(),
    act: { name: action as Exclude<typeof action, 'delete'> },
    isDesiredState: true,
    isWish: true,
    userId,
    projectId,
  }
  const before = (tx: Tx) => takeIntent(tx, intent)
  return sagas.start(actOnServerSaga, { subject: serverId, params, work, before })
}

async function takeIntent(tx: Tx, intent: DueIntent): Promise<void> {
  if (!(await removeIntent(tx, intent)))
    throw new Failure('conflict', 'Another gateway has already handled the intent.')
}

/**
 * Records why the cell refused an intent: the request was answered long ago, and no other record has the reason.
 * Never rejects.
 */
async function recordEnd(compute: Compute, intent: DueIntent, run: SagaRun): Promise<void> {
  try {
    if ((await run.finished) === 'unwound') await recordFailure(compute, intent, run)
  } catch (error) {
    compute.log.warn(errorFields(error), 'event for the end of an intent not recorded')
  }
}

async function recordFailure(
  { db, clock }: Compute,
  intent: DueIntent,
  run: SagaRun,
): Promise<void> {
  const { serverId, action, work } = intent
  const failure = await readFailure(db, run.id)
  const at = clock.now()
  const event = {
    serverId,
    requestId: work.requestId,
    event: SERVER_ACTIONS[action].event ?? action,
    startedAt: at,
    finishedAt: at,
    result: 'Error' as const,
    host: null,
    details: failure?.message ?? null,
  }
  await db.transaction((tx) => queueActionEvents(tx, null, [event]))
}

/** The intent ends as a failed action of its server: as for one that is gone, which cannot be started or stopped. */
async function giveUp({ db }: Compute, intent: DueIntent): Promise<undefined> {
  await db.transaction(async (tx) => {
    if (await removeIntent(tx, intent)) endIntent(tx, intent, 'Error')
  })
  return undefined
}
