import { SagaEngine } from '#common/saga/engine.ts'
import type { Json } from '#common/saga/saga.ts'
import type { Compute, ComputeDeps } from '../compute.ts'
import { COMPUTE_SAGAS } from '../sagas/compute-sagas.ts'
import { backUpServers } from './back-up-servers.ts'
import { carryOutIntents } from './carry-out-intents.ts'
import { cellRecoveries } from './cell-recoveries.ts'
import { drainHosts } from './drain-hosts.ts'
import { type DueTimes, dueActs } from './due-acts.ts'
import { endMissing } from './end-missing.ts'
import { evacuateFenced } from './evacuate-fenced.ts'
import { finishDeletes } from './finish-deletes.ts'
import { finishSnapshotDeletes, finishVolumeDeletes } from './finish-volume-deletes.ts'
import { finishVolumeMoves } from './finish-volume-moves.ts'
import { keptServers } from './kept-servers.ts'
import { replicateBackups } from './replicate-backups.ts'
import { restartGuests } from './restart-guests.ts'
import { retryBuilds } from './retry-builds.ts'
import { type IsolatedRow, type RowReconciler, workIsolated } from './row-reconciler.ts'
import { serverMoves } from './server-moves.ts'
import { settleResizes } from './settle-resizes.ts'

interface Options {
  /** Stable over restarts of this gateway process, and no other's. */
  readonly processName: string
  readonly dueTimes: DueTimes
}

export type RowReconcilers = ReturnType<typeof rowReconcilers>

/** Those that do one thing for each of many rows. */
export function rowReconcilers(compute: Compute, { processName, dueTimes }: Options) {
  return {
    intents: carryOutIntents(compute, processName),
    resizes: settleResizes(compute),
    kept: keptServers(compute),
    acts: dueActs(compute, dueTimes),
    drains: drainHosts(compute),
    moves: serverMoves(compute),
    recoveries: cellRecoveries(compute),
    backups: backUpServers(compute),
    replicas: replicateBackups(compute),
    fenced: evacuateFenced(compute),
    restarts: restartGuests(compute),
    retries: retryBuilds(compute),
    deletes: finishDeletes(compute),
    missing: endMissing(compute),
    volumeDeletes: finishVolumeDeletes(compute),
    snapshotDeletes: finishSnapshotDeletes(compute),
    volumeMoves: finishVolumeMoves(compute),
  }
}

/** Works on a row in an isolated process. What sagas it begins go on in the process that gave it. */
export function rowIsolated(
  deps: ComputeDeps & Pick<Compute, 'operations'>,
  options: Options,
  task: IsolatedRow,
  signal: AbortSignal,
): Promise<Json> {
  const { db, clock, log } = deps
  const { processName } = options
  const engine = { db, deps, sagas: COMPUTE_SAGAS, processName, clock, log }
  const sagas = SagaEngine.isolated<ComputeDeps>(engine, task.lease)
  const all = Object.values(rowReconcilers({ ...deps, sagas }, options))
  const each = all.find(({ name }) => name === task.reconciler)
  return workIsolated(each as RowReconciler<unknown> | undefined, task, signal)
}
