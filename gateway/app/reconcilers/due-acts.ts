import { workContext } from '#common/context.ts'
import { isFailure } from '#common/errors.ts'
import { newId } from '#common/ids.ts'
import type { PlainAct } from '#openapi/wire/act.ts'
import { type DueServer, shelvedServers, unconfirmedResizes } from '../../db/due-acts.ts'
import type { Compute } from '../compute.ts'
import { actOnServerSaga } from '../sagas/act-on-server.ts'
import type { RowReconciler } from './row-reconciler.ts'

/** The longest time between rounds; a commit that may be work wakes it earlier. */
const EVERY_MS = 10_000
const BATCH = 20

/** The times after which gateways act on servers by themselves, as operators configure them. In seconds. */
export interface DueTimes {
  /** Resizes are confirmed after so long; 0: never (Nova: `resize_confirm_window`). */
  readonly resizeConfirmWindowS: number
  /** Shelved servers leave their host after so long; -1: never (Nova: `shelved_offload_time`). */
  readonly shelvedOffloadTimeS: number
}

interface DueAct {
  readonly server: DueServer
  readonly name: PlainAct
}

/** Confirms resizes and offloads shelved servers whose time has come. */
export function dueActs(compute: Compute, times: DueTimes): RowReconciler<DueAct> {
  const { db } = compute
  const { resizeConfirmWindowS, shelvedOffloadTimeS } = times
  return {
    name: 'due acts',
    everyMs: EVERY_MS,
    due: async () => {
      const resized =
        resizeConfirmWindowS === 0 ? [] : await unconfirmedResizes(db, resizeConfirmWindowS, BATCH)
      const shelved =
        shelvedOffloadTimeS < 0 ? [] : await shelvedServers(db, shelvedOffloadTimeS, BATCH)
      return [
        ...resized.map((server): DueAct => ({ server, name: 'confirm-resize' })),
        ...shelved.map((server): DueAct => ({ server, name: 'shelve-offload' })),
      ]
    },
    keyOf: ({ server, name }) => `${name} ${server.serverId}`,
    work: ({ server, name }) => begin(compute, server, name),
  }
}

/** Afterwards it is under way, unless another request has taken the server. */
async function begin(compute: Compute, server: DueServer, name: PlainAct): Promise<void> {
  const params = { ...server, operationId: newId<string>(), act: { name } }
  try {
    const work = workContext({})
    await compute.sagas.start(actOnServerSaga, { subject: server.serverId, params, work })
  } catch (error) {
    if (!isFailure(error, 'conflict')) throw error
  }
}
