import { workContext } from '#common/context.ts'
import { isFailure } from '#common/errors.ts'
import { newId } from '#common/ids.ts'
import { forEachRow, type Reconciler } from '#common/reconciler.ts'
import type { PlainAct } from '#openapi/wire/act.ts'
import { type DueServer, shelvedServers, unconfirmedResizes } from '../../db/due-acts.ts'
import type { Compute } from '../compute.ts'
import { actOnServerSaga } from '../sagas/act-on-server.ts'

/** Else it is told that there may be something to do. */
const EVERY_MS = 10_000
const BATCH = 20

/** What an operator wants done with servers that nobody does anything with. In seconds. */
export interface DueTimes {
  /** Resizes are confirmed after so long; 0: never (Nova: `resize_confirm_window`). */
  readonly resizeConfirmWindowS: number
  /** Shelved servers leave their host after so long; -1: never (Nova: `shelved_offload_time`). */
  readonly shelvedOffloadTimeS: number
}

/** Confirms resizes and offloads shelved servers whose time has come. */
export function dueActs(compute: Compute, times: DueTimes): Reconciler {
  const { db } = compute
  const { resizeConfirmWindowS, shelvedOffloadTimeS } = times
  return {
    name: 'due acts',
    everyMs: EVERY_MS,
    round: async (signal) => {
      const resized =
        resizeConfirmWindowS === 0 ? [] : await unconfirmedResizes(db, resizeConfirmWindowS, BATCH)
      const shelved =
        shelvedOffloadTimeS < 0 ? [] : await shelvedServers(db, shelvedOffloadTimeS, BATCH)
      const each = { log: compute.log, signal }
      await forEachRow(resized, each, (server) => begin(compute, server, 'confirm-resize'))
      await forEachRow(shelved, each, (server) => begin(compute, server, 'shelve-offload'))
      return { confirmed: resized.length, offloaded: shelved.length }
    },
  }
}

/** Afterwards it is under way, unless somebody else has taken the server. */
async function begin(compute: Compute, server: DueServer, name: PlainAct): Promise<void> {
  const params = { ...server, operationId: newId<string>(), act: { name } }
  try {
    const work = workContext({})
    await compute.sagas.start(actOnServerSaga, { subject: server.serverId, params, work })
  } catch (error) {
    if (!isFailure(error, 'conflict')) throw error
  }
}
