import type { WorkContext } from '#common/context.ts'
import { Failure, isFailure } from '#common/errors.ts'
import type { InstanceId } from '#common/ids.ts'
import type { CellAnswer, CellAsk } from '#openapi/wire/cell.ts'
import type { Cell } from '../cell.ts'
import { type HostOutcome, reasonOf, workOnHost } from '../conductor/ask-host.ts'
import type { Conductor } from '../conductor/conductor.ts'
import type { Instance } from '../conductor/instance.ts'
import { findInstance } from '../db/instances.ts'
import { attachmentOf, placedInstance } from './instance-change-volume.ts'

type Ask = CellAsk<'instance.swap-volume'>

/** A gateway waits less long, and asks again; a copy takes as long as its volume is large. */
const WORK_MS = 30_000

/** Afterwards the step is done. Throws as `instance.change-volume`, and `unavailable` while the host is at it. */
export async function instanceSwapVolume(
  { conductor }: Cell,
  ask: Ask,
  work: WorkContext,
): Promise<CellAnswer<'instance.swap-volume'>> {
  const { operation, step, to } = ask
  const instance =
    step === 'cancel' ? await instanceToFree(conductor, ask) : await placedInstance(conductor, ask)
  if (instance === undefined) return {}
  const host = instance.placed!.hostId
  const isWanted = async () =>
    (await findInstance(conductor.db, instance.id))?.attempt === operation.attempt
  const payload = { operation, step, to: await attachmentOf(conductor, { attach: to }, host) }
  const signal = AbortSignal.timeout(WORK_MS)
  const asked = { host, work, signal, isWanted, operation: 'volume-swap', payload } as const
  try {
    return answerTo(ask, await workOnHost(conductor, asked))
  } catch (error) {
    if (!signal.aborted || isFailure(error)) throw error
    throw new Failure('unavailable', `The host of instance ${instance.id} is still at it.`, {
      cause: error,
    })
  }
}

/** Undefined for one that is gone, with its guest and all that this has. */
async function instanceToFree(
  { db }: Conductor,
  { operation }: Pick<Ask, 'operation'>,
): Promise<Instance | undefined> {
  const instance = await findInstance(db, operation.serverId as InstanceId)
  if (instance === undefined || instance.attempt !== operation.attempt) return undefined
  if (instance.sagaId !== null)
    throw new Failure('unavailable', `Instance ${instance.id} is being changed.`)
  return instance.placed === null ? undefined : instance
}

function answerTo({ step }: Ask, outcome: HostOutcome): CellAnswer<'instance.swap-volume'> {
  switch (outcome.state) {
    case 'done':
      return {}
    case 'failed':
      throw new Failure(outcome.kind, outcome.message, {
        ...(outcome.detail !== undefined && { detail: outcome.detail }),
      })
    case 'unwanted':
    case 'stale':
      if (step === 'cancel') return {}
      throw new Failure('conflict', 'The server was deleted or moved meanwhile.')
    case 'fenced':
      // Nothing runs there. The guest may have changed over before it ended. The other volume has every write of the guest in either
      // case, because since the copy each goes to both; the one before lacks those that came after it changed over.
      if (step !== 'copy') return {}
      throw new Failure('conflict', reasonOf(outcome))
  }
}
