import type { Saga } from '#common/saga/saga.ts'
import type { ComputeDeps } from '../compute.ts'
import { buildRounds } from './build-rounds.ts'
import {
  areVolumesMade,
  giveUpVolumes,
  type MakeVolumesParams,
  makeVolumes,
} from './make-volumes.ts'

/** `cellId` null: no cell fits, and the server was recorded in ERROR. */
export type CreateServerParams = MakeVolumesParams

/**
 * Builds a server that was just accepted, after the volumes that are made with it. The code that starts the saga writes the server's rows (mapping, ports,
 * index, spec, quota) in the saga's first transaction, because several servers of one request commit together. It is
 * done when a cell has accepted; the further course of the build reaches the gateway through the cell's feed.
 */
export const createServerSaga: Saga<ComputeDeps, CreateServerParams> = {
  name: 'create-server',
  version: 1,
  steps: [
    makeVolumes,
    giveUpVolumes,
    ...buildRounds<CreateServerParams>((call) => {
      const { cellId, attempt } = call.params
      return cellId === null || !areVolumesMade(call) ? undefined : { cellId, attempt }
    }),
  ],
}
