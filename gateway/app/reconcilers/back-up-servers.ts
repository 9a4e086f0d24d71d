import type { Executor } from '#common/db/database.ts'
import { isFailure } from '#common/errors.ts'
import { findImage } from '../../db/images.ts'
import {
  dueProtections,
  noteBackup,
  removeProtection,
  type ServerProtection,
  takeDue,
} from '../../db/server-protections.ts'
import type { Compute } from '../compute.ts'
import { operatorOf } from '../operations/operator-of.ts'
import { backUpServer } from '../servers/acts/save-server.ts'
import type { RowReconciler } from './row-reconciler.ts'

const EVERY_MS = 5_000
const BATCH = 100
/** Most of the time is waited for cells. */
const PARALLEL = 10
/** A server that cannot be saved now is tried again no later. */
const AGAIN_MAX_S = 300
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

async function backUp(compute: Compute, protection: ServerProtection): Promise<void> {
  const { db, clock } = compute
  const { serverId, keep, everyS, lastImageId } = protection
  if (!(await takeDue(db, protection))) return
  const name = `backup ${new Date(clock.now()).toISOString()}`
  const since = (await isWhole(db, lastImageId)) ? lastImageId : null
  const request = { name, metadata: {}, type: BACKUP_TYPE, rotation: keep, since }
  try {
    const imageId = await backUpServer(compute, operatorOf(protection), serverId, request)
    await noteBackup(db, serverId, { imageId })
  } catch (error) {
    if (!isFailure(error)) throw error
    if (error.kind === 'not-found') await removeProtection(db, serverId)
    else
      await noteBackup(db, serverId, {
        error: error.message,
        againS: Math.min(everyS, AGAIN_MAX_S),
      })
  }
}

/** True for a backup that is there: the next may be made of it. */
async function isWhole(db: Executor, imageId: string | null): Promise<boolean> {
  return imageId !== null && (await findImage(db, imageId))?.status === 'active'
}
