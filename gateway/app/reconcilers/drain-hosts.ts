import { workContext } from '#common/context.ts'
import type { Executor } from '#common/db/database.ts'
import { isFailure } from '#common/errors.ts'
import { errorFields } from '#common/log.ts'
import { abandonMoves } from '../../db/drain-moves.ts'
import { cellsWithServingHosts } from '../../db/host-index.ts'
import { findHost, type HostRecord } from '../../db/host-list.ts'
import { endDrain, noteProgress, runningDrains } from '../../db/operations.ts'
import { countServersOnHost } from '../../db/servers-on-host.ts'
import type { Compute } from '../compute.ts'
import { isHostUp } from '../hosts/host-state.ts'
import { setService } from '../hosts/services.ts'
import { type DueDrain, type MovesLeft, moveServers } from '../operations/move-servers.ts'
import type { RowReconciler } from './row-reconciler.ts'

/** The longest time between rounds; a commit that may be work wakes it earlier. */
const EVERY_MS = 10_000
const BATCH = 100
/** So that hosts which are drained at once do not wait for each other. */
const PARALLEL = 10

/** A draining host takes no new server, and its servers move if that was asked for; once it has none left, the operation is done. */
export function drainHosts(compute: Compute): RowReconciler<DueDrain> {
  return {
    name: 'drain hosts',
    everyMs: EVERY_MS,
    due: (_signal, after) => dueDrains(compute.db, after),
    batch: BATCH,
    parallel: PARALLEL,
    keyOf: ({ id }) => id,
    work: (drain) => tryToAdvance(compute, drain),
    setAside: (drain) => end(compute, drain, 'failed', 'It stopped the program that did it.'),
  }
}

/** A host that is drained serves no more itself, so a cell that has a serving host has another one. */
async function dueDrains(db: Executor, after: DueDrain | undefined): Promise<readonly DueDrain[]> {
  const drains = await runningDrains(db, after?.id ?? '', BATCH)
  const serving = await cellsWithServingHosts(db, new Set(drains.map(({ cellId }) => cellId)))
  return drains.map((drain) => ({ ...drain, othersServe: serving.has(drain.cellId) }))
}

/** A failure of one host, or a refusal of its cell, must not hold up the others. */
async function tryToAdvance(compute: Compute, drain: DueDrain): Promise<void> {
  try {
    await advance(compute, drain)
  } catch (error) {
    if (isFailure(error, 'unavailable')) throw error
    if (isFailure(error)) return noteProgress(compute.db, drain.id, { message: error.message })
    compute.log.error({ operation: drain.id, ...errorFields(error) }, 'drain failed')
    const why = 'It failed for a reason that the log of the gateway tells.'
    await end(compute, drain, 'failed', why)
  }
}

async function advance(compute: Compute, drain: DueDrain): Promise<void> {
  const { db } = compute
  const host = await findHost(db, drain.subjectId)
  if (host === undefined) {
    await abandonMoves(db, drain.id)
    return end(compute, drain, 'done', 'The host is gone.')
  }
  if (drain.state !== 'running') {
    await moveServers(compute, drain, host, false)
    return
  }
  if (!host.view.isDisabled) {
    if (drain.isCordoned) return end(compute, drain, 'cancelled', 'The host was uncordoned.')
    const disabledReason = drain.reason ?? 'It is being drained.'
    const change = { isDisabled: true, disabledReason }
    await setService(
      compute,
      workContext({ requestId: drain.requestId ?? undefined }),
      host,
      change,
    )
  }
  const isKnown = compute.cells.cell(host.cellId)?.isReachable === true
  // Servers of a host that was fenced and is back run there again.
  const isBack = drain.fencedAt !== null && isHostUp(host, compute.cells)
  const left: MovesLeft =
    drain.movesServers && isKnown
      ? await moveServers(compute, drain, host, !drain.isLate && !isBack)
      : { moving: 0, waiting: undefined, staying: 0 }
  const remaining = (await remainingOn(compute, host)) - left.staying
  // The last known count of an unreachable cell is no proof.
  if (left.moving === 0 && isKnown && (isBack || remaining === 0))
    return end(compute, drain, 'done', endText(isBack, remaining, left))
  if (drain.isLate && left.moving === 0)
    return end(compute, drain, 'failed', `The time was up. ${leftText(remaining, left)}`)
  const total = Math.max(drain.total ?? 0, remaining)
  const waits = left.waiting === undefined ? null : leftText(remaining, left)
  const message = isKnown ? waits : 'Its cell does not answer.'
  const isNew = total !== drain.total || remaining !== drain.remaining || !drain.isCordoned
  if (isNew || message !== drain.message)
    await noteProgress(db, drain.id, { isCordoned: true, total, remaining, message })
}

/** What an operator should know of a drain that is done; null: nothing is left. */
function endText(isBack: boolean, remaining: number, { staying }: MovesLeft): string | null {
  if (isBack && remaining > 0)
    return `The host is back, with ${countOf(remaining)} that did not move.`
  return staying === 0
    ? null
    : `The rest stay on the host, as their placement policies say: ${countOf(staying)}.`
}

function countOf(servers: number): string {
  return `${servers} ${servers === 1 ? 'server' : 'servers'}`
}

function leftText(remaining: number, { waiting }: MovesLeft): string {
  const count = `${countOf(remaining)} ${remaining === 1 ? 'is' : 'are'} left.`
  return waiting === undefined ? count : `${count} ${waiting.name} waits: ${waiting.reason}`
}

/**
 * The number of servers shown on the host, or of those that the host reports, whichever is larger: a server that is just
 * being built is in one of the lists only. A host that is down reports what it had.
 */
async function remainingOn({ db, cells }: Compute, host: HostRecord): Promise<number> {
  const { view } = host
  const shown = await countServersOnHost(db, host)
  return isHostUp(host, cells) ? Math.max(shown, view.used.instances) : shown
}

async function end(
  { db, operations }: Compute,
  drain: DueDrain,
  state: 'done' | 'cancelled' | 'failed',
  message: string | null,
): Promise<void> {
  if (await db.transaction((tx) => endDrain(tx, drain, state, message))) operations.notify(drain.id)
}
