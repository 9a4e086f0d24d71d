import { workContext } from '#common/context.ts'
import { isFailure } from '#common/errors.ts'
import { errorFields } from '#common/log.ts'
import { findHost, type HostRecord, serversOnHosts } from '../../db/host-list.ts'
import { endDrain, type HostDrain, noteProgress, runningDrains } from '../../db/operations.ts'
import type { Compute } from '../compute.ts'
import { type ServiceDeps, setService } from '../hosts/services.ts'
import type { RowReconciler } from './row-reconciler.ts'

type DrainDeps = ServiceDeps & Pick<Compute, 'operations' | 'log'>

/** The longest time between rounds; a commit that may be work wakes it earlier. */
const EVERY_MS = 10_000
const BATCH = 100

/** A draining host takes no new server; once it has none left, the operation is done. */
export function drainHosts(deps: DrainDeps): RowReconciler<HostDrain> {
  return {
    name: 'drain hosts',
    everyMs: EVERY_MS,
    due: () => runningDrains(deps.db, BATCH),
    keyOf: ({ id }) => id,
    work: (drain) => tryToAdvance(deps, drain),
    setAside: (drain) => end(deps, drain, 'failed', 'It stopped the program that did it.'),
  }
}

/** A failure of one host, or a refusal of its cell, must not hold up the others. */
async function tryToAdvance(deps: DrainDeps, drain: HostDrain): Promise<void> {
  try {
    await advance(deps, drain)
  } catch (error) {
    if (isFailure(error, 'unavailable')) throw error
    if (isFailure(error)) return noteProgress(deps.db, drain.id, { message: error.message })
    deps.log.error({ operation: drain.id, ...errorFields(error) }, 'drain failed')
    await end(deps, drain, 'failed', 'It failed for a reason that the log of the gateway tells.')
  }
}

async function advance(deps: DrainDeps, drain: HostDrain): Promise<void> {
  const { db } = deps
  const host = await findHost(db, drain.subjectId)
  if (host === undefined) return end(deps, drain, 'done', 'The host is gone.')
  if (!host.view.isDisabled) {
    if (drain.isCordoned) return end(deps, drain, 'cancelled', 'The host was uncordoned.')
    const disabledReason = drain.reason ?? 'It is being drained.'
    const change = { isDisabled: true, disabledReason }
    await setService(deps, workContext({ requestId: drain.requestId ?? undefined }), host, change)
  }
  const remaining = await remainingOn(deps, host)
  // The last known count of an unreachable cell is no proof.
  const isKnown = deps.cells.cell(host.cellId)?.isReachable === true
  if (remaining === 0 && isKnown) return end(deps, drain, 'done', null)
  const total = Math.max(drain.total ?? 0, remaining)
  const message = isKnown ? null : 'Its cell does not answer.'
  const isNew = total !== drain.total || remaining !== drain.remaining || !drain.isCordoned
  if (isNew || message !== drain.message)
    await noteProgress(db, drain.id, { isCordoned: true, total, remaining, message })
}

/**
 * The number of servers shown on the host, or of those that the host reports, whichever is larger: a server that is just
 * being built is in one of the lists only.
 */
async function remainingOn({ db }: ServiceDeps, { view }: HostRecord): Promise<number> {
  const shown = (await serversOnHosts(db, [view.hostId])).get(view.hostId)?.length ?? 0
  return Math.max(shown, view.used.instances)
}

async function end(
  { db, operations }: DrainDeps,
  drain: HostDrain,
  state: 'done' | 'cancelled' | 'failed',
  message: string | null,
): Promise<void> {
  if (await db.transaction((tx) => endDrain(tx, drain, state, message))) operations.notify(drain.id)
}
