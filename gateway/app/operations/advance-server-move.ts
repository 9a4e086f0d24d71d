import { type Failure, isFailure } from '#common/errors.ts'
import { newId } from '#common/ids.ts'
import { failureOf } from '../../db/drain-moves.ts'
import { noteProgress } from '../../db/operations.ts'
import {
  beginMoveStep,
  endServerMove,
  findMovedServer,
  type NextMoveStep,
  type ServerMoveRecord,
} from '../../db/server-moves.ts'
import type { Compute } from '../compute.ts'
import type { RequestContext } from '../request-context.ts'
import { operationIds } from '../sagas/build-rounds.ts'
import { changeCellSaga } from '../sagas/change-cell.ts'
import { actOnServer } from '../servers/acts/act-on-server.ts'
import { copyServer, shelveServer } from '../servers/acts/save-server.ts'
import { unshelveServer } from '../servers/acts/unshelve-server.ts'
import { carryTarget } from './carry-plan.ts'
import { carryNext, turnBack, withVolumes } from './carry-volumes.ts'
import { copySeen, howSaved, notedWith } from './copy-ahead.ts'
import { operatorOf } from './operator-of.ts'
import { type MovedServer, type MoveStep, planServerMove } from './server-move-plan.ts'

type Begun = Exclude<MoveStep, 'waiting'>
type Planned = Omit<NextMoveStep, 'step' | 'stepRequestId'> & { readonly step: Begun }

/** What operators read while a step is under way. */
const MESSAGES: Readonly<Record<Begun, string>> = {
  copying: 'Its disk is being copied while it runs.',
  fetching: 'A host of the other cell fetches the copy of its disk while it runs.',
  saving: 'Its disk is being saved.',
  offloading: 'Its host lets go of it.',
  carrying: 'Its volumes are moved to the cell in which it is to run.',
  changing: 'The other cell builds it.',
  returning: 'It is brought back where it was.',
  forgetting: 'It stays where it is; its host ends what it did for the move.',
  stopping: 'It is stopped, as it was before.',
}

/** Takes the move of a server one step further, if the step before it has ended. */
export async function advanceServerMove(compute: Compute, move: ServerMoveRecord): Promise<void> {
  const { db, clock } = compute
  const server = await findMovedServer(db, move.subjectId)
  const refusal = await failureOf(db, move.subjectId, move.stepRequestId)
  const copy = await copySeen(compute, operatorOf(move), move, server)
  const planned = planServerMove(move, server, refusal, copy, new Date(clock.now()))
  const next = await withVolumes(compute, move, server, planned, refusal)
  if (next.kind === 'end') await end(compute, move, next.state, next.message)
  if (next.kind !== 'begin' || server === undefined) return
  const { step, failure = null } = next
  const noted = await notedWith(db, move, step, copy)
  await begin(compute, move, { step, ...noted, ...(failure !== null && { failure }) }, server)
}

async function begin(
  compute: Compute,
  move: ServerMoveRecord,
  planned: Planned,
  server: MovedServer,
): Promise<void> {
  const { db } = compute
  const { step } = planned
  const context = operatorOf(move)
  const { vmState } = server
  const stepRequestId = context.requestId
  const isSaving =
    (step === 'copying' || step === 'saving') && (vmState === 'active' || vmState === 'stopped')
  const next = { ...planned, stepRequestId, ...(isSaving && { formerState: vmState }) }
  // Kept first: one gateway alone begins it, and another that takes over looks what has come of it.
  if (!(await beginMoveStep(db, move, next))) return
  const begun = { ...move, ...next }
  await noteProgress(db, move.id, { message: MESSAGES[step] })
  try {
    await START[step](compute, context, begun, server)
  } catch (error) {
    if (!isFailure(error)) throw error
    await refused(compute, begun, error)
  }
}

/** A step that did not begin: a move that has stopped nothing yet ends, one that has goes back, and what must be is tried again. */
async function refused(
  compute: Compute,
  move: ServerMoveRecord,
  { kind, message }: Failure,
): Promise<void> {
  const { db } = compute
  await noteProgress(db, move.id, { message })
  if (kind === 'unavailable') return
  const inOnePass = { step: 'saving', copyImageId: null, copyHostId: null } as const
  if (move.step === 'copying') await beginStep(compute, move, inOnePass)
  if (move.step === 'saving') await giveUp(compute, move, message)
  // Another request was quicker, and it is tried again.
  if (move.step === 'forgetting' && kind !== 'conflict')
    await end(compute, move, move.isCancelled ? 'cancelled' : 'failed', move.failure)
  if (move.step === 'carrying') await turnBack(compute, move, message)
  // In no image that can be read any more.
  if (move.step === 'changing' && kind === 'not-found') return end(compute, move, 'failed', message)
  const server = await findMovedServer(db, move.subjectId)
  if (move.step === 'changing' && server?.cellId === move.fromCellId)
    await beginMoveStep(db, move, { step: 'offloading', stepRequestId: newId(), failure: message })
}

/** A saving that did not begin: its host notes changes until it is told not to. */
async function giveUp(compute: Compute, move: ServerMoveRecord, failure: string): Promise<void> {
  if (move.copyImageId === null) await end(compute, move, 'failed', failure)
  else await beginStep(compute, move, { step: 'forgetting', failure })
}

async function beginStep(
  compute: Compute,
  move: ServerMoveRecord,
  planned: Planned,
): Promise<void> {
  const server = await findMovedServer(compute.db, move.subjectId)
  if (server !== undefined) await begin(compute, move, planned, server)
}

type Start = (
  compute: Compute,
  context: RequestContext,
  move: ServerMoveRecord,
  server: MovedServer,
) => Promise<void>

const START: Readonly<Record<Begun, Start>> = {
  copying: (compute, context, { subjectId, copyImageId }) =>
    copyServer(compute, context, subjectId, copyImageId!),
  // `copySeen` asks for it, as long as the step is under way.
  fetching: () => Promise.resolve(),
  saving: (compute, context, { subjectId, copyImageId }) =>
    shelveServer(compute, context, subjectId, {
      isMoving: true,
      ...(copyImageId !== null && { changesOf: copyImageId }),
    }),
  offloading: (compute, context, { subjectId }) =>
    actOnServer(compute, context, subjectId, { name: 'shelve-offload' }),
  carrying: carryNext,
  changing: changeCell,
  returning: (compute, context, { subjectId }) =>
    unshelveServer(compute, context, subjectId, { zone: undefined, host: null }),
  forgetting: (compute, context, { subjectId }) =>
    actOnServer(compute, context, subjectId, { name: 'forget-changes' }),
  stopping: (compute, context, { subjectId }) =>
    actOnServer(compute, context, subjectId, { name: 'stop' }),
}

/** Afterwards the server is another cell's, which is asked to build it. Throws what the saga's first step throws. */
async function changeCell(
  { sagas }: Compute,
  work: RequestContext,
  move: ServerMoveRecord,
  { cellId: fromCellId, attempt }: MovedServer,
): Promise<void> {
  const { subjectId: serverId } = move
  const toCellId = fromCellId === null ? carryTarget(move) : move.toCellId
  await sagas.start(changeCellSaga, {
    subject: serverId,
    params: {
      ...{ serverId, attempt, fromCellId, toCellId },
      ...{ deleteOperationId: newId<string>(), operationIds: operationIds() },
    },
    work,
  })
}

async function end(
  { db, operations }: Compute,
  move: ServerMoveRecord,
  state: 'done' | 'failed' | 'cancelled',
  message: string | null,
): Promise<void> {
  const told = state === 'done' ? howSaved(move) : message
  if (await db.transaction((tx) => endServerMove(tx, move, state, told))) operations.notify(move.id)
}
