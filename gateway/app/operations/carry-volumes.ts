import { newId } from '#common/ids.ts'
import { findRequestSpec } from '../../db/request-specs.ts'
import { beginMoveStep, type ServerMoveRecord } from '../../db/server-moves.ts'
import {
  cancelVolumeMove,
  hasContentLeft,
  runningVolumeMove,
  volumeMoveOfRequest,
} from '../../db/volume-moves.ts'
import type { Compute } from '../compute.ts'
import type { RequestContext } from '../request-context.ts'
import { hostForVolumes } from '../sagas/host-for-volumes.ts'
import { moveVolumeSaga } from '../sagas/move-volume.ts'
import { currentSpec } from '../servers/boot/current-spec.ts'
import { volumesOf } from '../volumes/carried.ts'
import type { Volume } from '../volumes/volume.ts'
import { type CarriedVolume, carryTarget, needsVolumes, planCarry } from './carry-plan.ts'
import { newVolumeMove } from './move-volume.ts'
import type { MovedServer, NextMoveAction } from './server-move-plan.ts'

/**
 * What a move does next, once the server's volumes are where it is to be built; until then, what is done about them.
 * `refusal`: why the step that is under way has failed; null: it is not known.
 */
export async function withVolumes(
  compute: Compute,
  move: ServerMoveRecord,
  server: MovedServer | undefined,
  next: NextMoveAction,
  refusal: string | null,
): Promise<NextMoveAction> {
  const { db, clock } = compute
  if (server === undefined || !needsVolumes(next)) return next
  const volumes = await carried(compute, move)
  const ids = volumes.map(({ id }) => id)
  const last = await volumeMoveOfRequest(db, ids, move.stepRequestId)
  const seen = { server, volumes, last, refusal }
  const action = planCarry(next, move, seen, new Date(clock.now()))
  if (action.kind === 'turn-back') await turnBack(compute, move, action.failure)
  else if (action.kind === 'cancel')
    await db.transaction((tx) => cancelVolumeMove(tx, action.operationId))
  else return action
  return { kind: 'wait' }
}

/** Afterwards the server goes back to where it was, with its volumes, for this reason; one that does so already goes on. */
export async function turnBack(
  { db }: Pick<Compute, 'db'>,
  move: ServerMoveRecord,
  failure: string,
): Promise<void> {
  if (move.failure !== null || move.isCancelled) return
  await beginMoveStep(db, move, { step: 'offloading', stepRequestId: newId(), failure })
}

async function carried({ db }: Compute, move: ServerMoveRecord): Promise<readonly CarriedVolume[]> {
  const target = carryTarget(move)
  const volumes = await volumesOf(db, move.subjectId)
  return Promise.all(
    volumes.map(async ({ id, cellId }) => {
      const running = await runningVolumeMove(db, id)
      return {
        ...{ id, cellId },
        move:
          running === undefined ? null : { operationId: running.id, toCellId: running.toCellId },
        isAwaited: target !== null && target !== cellId && (await hasContentLeft(db, id, target)),
      }
    }),
  )
}

/** Afterwards the next of the server's volumes is on its way to where the server is to be built. Throws what the saga's first step throws. */
export async function carryNext(
  compute: Compute,
  work: RequestContext,
  move: ServerMoveRecord,
): Promise<void> {
  const { db, sagas, operations } = compute
  const { subjectId: carrierId, userId } = move
  const toCellId = carryTarget(move)
  const volumes = await volumesOf(db, carrierId)
  const away = volumes.filter(({ cellId }) => cellId !== toCellId)
  const [volume] = away
  const fromCellId = volume?.cellId ?? null
  if (volume === undefined || fromCellId === null || toCellId === null) return
  const host = await hostFor(compute, work, { ...move, toCellId }, away)
  const run = await sagas.start(moveVolumeSaga, {
    subject: volume.id,
    params: {
      ...newVolumeMove(volume),
      ...{ volumeId: volume.id, fromCellId, toCellId, reason: null, userId, carrierId },
      ...(host !== undefined && { host }),
    },
    work,
  })
  const running = await runningVolumeMove(db, volume.id)
  const notify = () => running !== undefined && operations.notify(running.id)
  void run.finished.then(notify, notify)
}

/** A host that can take the server with the volumes that are there already, so that the others go to stores which it reaches. */
async function hostFor(
  compute: Compute,
  work: RequestContext,
  { subjectId, toCellId }: Pick<ServerMoveRecord, 'subjectId'> & { readonly toCellId: string },
  away: readonly Volume[],
): Promise<string | undefined> {
  const { db, cells } = compute
  const cell = cells.cell(toCellId)
  const request = await findRequestSpec(db, subjectId)
  if (cell === undefined || request === undefined) return undefined
  const spec = await currentSpec(compute, db, subjectId, request.spec)
  const newVolumes = new Set<string>(away.map(({ id }) => id))
  return hostForVolumes(compute, cell, { spec: { ...spec, requestedHost: null }, newVolumes }, work)
}
