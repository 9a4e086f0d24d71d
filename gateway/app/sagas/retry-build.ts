import type { InstanceId } from '#common/ids.ts'
import type { LocalStep, Saga } from '#common/saga/saga.ts'
import { lockMapping } from '../../db/instance-mappings.ts'
import type { ComputeDeps } from '../compute.ts'
import { type BuildParams, buildRounds } from './build-rounds.ts'
import { assignNextCell, type Target } from './next-cell.ts'

export interface RetryBuildParams extends BuildParams {
  readonly serverId: InstanceId
  /** The attempt that was given up. */
  readonly attempt: number
}

type Reassigned = { readonly next: Target | null }

const reassign: LocalStep<ComputeDeps, RetryBuildParams> = {
  kind: 'local',
  name: 'reassign',
  run: async (tx, { deps, params, sagaId, work }): Promise<Reassigned> => {
    const mapping = await lockMapping(tx, params.serverId)
    const isDue =
      mapping !== undefined &&
      mapping.isNotBuilt &&
      !mapping.isDeleting &&
      mapping.sagaId === null &&
      mapping.attempt === params.attempt
    if (!isDue) return { next: null }
    const reason = mapping.notBuiltReason ?? ''
    const round = { owner: null, next: sagaId, reason, requestId: work.requestId }
    return { next: (await assignNextCell(tx, deps, mapping, round)) ?? null }
  },
  // The build's undo shows the server in ERROR; it is never given back to a cell that gave it up.
  undo: 'none',
}

/**
 * Builds a server in the next cell after its cell gave it up before the guest ran, or one that is in no cell in any; it
 * is in ERROR when none is left.
 */
export const retryBuildSaga: Saga<ComputeDeps, RetryBuildParams> = {
  name: 'retry-build',
  version: 1,
  steps: [
    reassign,
    ...buildRounds<RetryBuildParams>(
      (call) => call.output<Reassigned>('reassign')?.next ?? undefined,
    ),
  ],
}
