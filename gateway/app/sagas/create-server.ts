import type { CellId } from '#common/ids.ts'
import type { Saga } from '#common/saga/saga.ts'
import type { ComputeDeps } from '../compute.ts'
import { type BuildParams, buildRounds } from './build-rounds.ts'

export interface CreateServerParams extends BuildParams {
  /** Null: no cell fits, and the server was recorded in ERROR. */
  readonly cellId: CellId | null
  readonly attempt: number
}

/**
 * Builds a server that was just accepted. The code that starts the saga writes the server's rows (mapping, ports,
 * index, spec, quota) in the saga's first transaction, because several servers of one request commit together. It is
 * done when a cell has accepted; the further course of the build reaches the gateway through the cell's feed.
 */
export const createServerSaga: Saga<ComputeDeps, CreateServerParams> = {
  name: 'create-server',
  version: 1,
  steps: buildRounds(({ params: { cellId, attempt } }) =>
    cellId === null ? undefined : { cellId, attempt },
  ),
}
