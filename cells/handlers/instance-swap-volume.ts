import type { WorkContext } from '#common/context.ts'
import { Failure, isFailure } from '#common/errors.ts'
import type { HostId, InstanceId, VolumeId } from '#common/ids.ts'
import type { CellAnswer, CellAsk } from '#openapi/wire/cell.ts'
import type { WireAttachment } from '#openapi/wire/volume.ts'
import type { Cell } from '../cell.ts'
import { type HostOutcome, reasonOf, workOnHost } from '../conductor/ask-host.ts'
import type { Conductor } from '../conductor/conductor.ts'
import type { Instance } from '../conductor/instance.ts'
import { findInstance } from '../db/instances.ts'
import { findVolume } from '../db/volumes.ts'
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
  const { operation, step } = ask
  const instance =
    step === 'copy' ? await placedInstance(conductor, ask) : await begunInstance(conductor, ask)
  if (instance === undefined) return {}
  const host = instance.placed!.hostId
  const isWanted = async () =>
    (await findInstance(conductor.db, instance.id))?.attempt === operation.attempt
  const payload = { operation, step, to: await otherVolume(conductor, ask, host) }
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

/**
 * Whatever has become of the copy, its host alone knows that. Undefined for an instance that is gone, with its guest and all that this
 * had, where it was only to be cancelled.
 */
async function begunInstance(
  { db }: Conductor,
  { operation, step }: Pick<Ask, 'operation' | 'step'>,
): Promise<Instance | undefined> {
  const instance = await findInstance(db, operation.serverId as InstanceId)
  const isGone = instance?.attempt !== operation.attempt || instance.placed === null
  if (isGone && step === 'cancel') return undefined
  if (isGone) throw deletedMeanwhile()
  if (instance.sagaId !== null)
    throw new Failure('unavailable', `Instance ${instance.id} is being changed.`)
  return instance
}

/** A host that does not see the store at the moment may have begun the copy before, so only that is refused for it. */
async function otherVolume(
  conductor: Conductor,
  { step, to }: Pick<Ask, 'step' | 'to'>,
  host: HostId,
): Promise<WireAttachment> {
  if (step === 'copy') return attachmentOf(conductor, { attach: to }, host)
  const { volumeAttempt: _attempt, ...how } = to
  const volume = await findVolume(conductor.db, to.volumeId as VolumeId)
  if (volume === undefined)
    throw new Failure('not-found', `Volume ${to.volumeId} is not in this cell.`)
  return { ...how, store: volume.storeId }
}

function deletedMeanwhile(): Failure {
  return new Failure('conflict', 'The server was deleted or moved meanwhile.')
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
      throw deletedMeanwhile()
    case 'fenced':
      // Nothing runs there. The guest may have changed over before it ended. The other volume has every write of the guest in either
      // case, because since the copy each goes to both; the one before lacks those that came after it changed over.
      if (step !== 'copy') return {}
      throw new Failure('conflict', reasonOf(outcome))
  }
}
