import type { Executor } from '#common/db/database.ts'
import { isFailure } from '#common/errors.ts'
import {
  AGAIN_MAX_S,
  deferBackup,
  dueProtections,
  endProtection,
  type TakenBackup,
  takeDue,
} from '../../db/due-backups.ts'
import { findImage } from '../../db/images.ts'
import { type ServerProtection } from '../../db/server-protections.ts'
import type { Compute } from '../compute.ts'
import { operatorOf } from '../operations/operator-of.ts'
import { backUpServer } from '../servers/acts/save-server.ts'
import type { RowReconciler } from './row-reconciler.ts'

const EVERY_MS = 5_000
const BATCH = 100
/** Most of the time is waited for cells. */
const PARALLEL = 10
/** A gateway that has just started has heard no cell yet. */
const UNREACHABLE_S = 30
/** By which its rotation knows the backups. */
const BACKUP_TYPE = 'protection'

/** Protected servers have backups that are no older than their schedules say, and as many as these keep. */
export function backUpServers(compute: Compute): RowReconciler<ServerProtection> {
  return {
    name: 'back up servers',
    everyMs: EVERY_MS,
    due: () => dueProtections(compute.db, BATCH),
    batch: BATCH,
    parallel: PARALLEL,
    keyOf: ({ serverId }) => serverId,
    work: (protection) => backUp(compute, protection),
  }
}

async function backUp(compute: Compute, due: ServerProtection): Promise<void> {
  const { db, clock } = compute
  const taken = await takeDue(db, due)
  if (taken === undefined) return
  const { serverId, keep, lastImageId } = taken
  const name = `backup ${new Date(clock.now()).toISOString()}`
  const since = (await isWhole(db, lastImageId)) ? lastImageId : null
  const request = { name, metadata: {}, type: BACKUP_TYPE, rotation: keep, since }
  try {
    const scheduled = takenBackup(taken)
    await backUpServer(compute, operatorOf(taken), serverId, { ...request, scheduled })
  } catch (error) {
    if (!isFailure(error)) throw error
    const { kind, message } = error
    const againS = kind === 'unavailable' ? UNREACHABLE_S : AGAIN_MAX_S
    if (kind === 'not-found') await endProtection(db, taken)
    else await deferBackup(db, taken, { error: message, againS })
  }
}

function takenBackup({ nextAt, lastAt, lastImageId }: ServerProtection): TakenBackup {
  const former =
    lastAt === null || lastImageId === null
      ? null
      : { imageId: lastImageId, atMs: lastAt.getTime() }
  return { dueAgainMs: nextAt.getTime(), former }
}

/** True for a backup that is there: the next may be made of it. */
async function isWhole(db: Executor, imageId: string | null): Promise<boolean> {
  return imageId !== null && (await findImage(db, imageId))?.status === 'active'
}
