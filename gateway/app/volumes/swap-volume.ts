import { Failure, isFailure } from '#common/errors.ts'
import { type AttachmentId, newId } from '#common/ids.ts'
import type { VmState } from '#common/states/instance-states.ts'
import { attachmentsOfVolumes, type VolumeAttachment } from '../../db/volume-attachments.ts'
import type { Compute } from '../compute.ts'
import { type RequestContext, requesterOf } from '../request-context.ts'
import { retryStale } from '../retry-stale.ts'
import { type SwapVolumeParams, swapVolumeSaga } from '../sagas/swap-volume.ts'
import { placedServer } from '../servers/boot/placed-server.ts'
import type { ServerRecord } from '../servers/list/server-record.ts'
import { refuseChange, refuseDetaching, showAttachment, waitForChange } from './attachments.ts'
import { refuseHeld, refuseUnknownSharing } from './hold-volume.ts'
import type { Volume } from './volume.ts'
import { showVolume } from './volumes.ts'

/** The states in which Nova swaps volumes (nova/compute/api.py `swap_volume`). */
const STATES: ReadonlySet<VmState> = new Set(['active', 'paused', 'resized'])

/** The volume that a server has, and the one that it is to have in its place. */
export interface SwapRequest {
  readonly serverId: string
  readonly volumeId: string
  readonly newVolumeId: string
}

/**
 * Afterwards the guest has the new volume, with the content of the old one, in its place, or its host is still copying. Throws
 * `not-found` where the old volume is not attached; `invalid` where the new one does not exist or cannot replace the old one;
 * `conflict` in a state that forbids a swap, or with the reason why the host cannot do it; `unavailable` while the cell is unreachable.
 */
export async function swapVolume(
  compute: Compute,
  context: RequestContext,
  { serverId, volumeId, newVolumeId }: SwapRequest,
): Promise<void> {
  const check = (record: ServerRecord) => refuseChange(record, context, 'swap_volume', STATES)
  await retryStale(compute.clock, async () => {
    const attachment = await showAttachment(compute, context, serverId, volumeId)
    const { server, cell } = await placedServer(compute, context, serverId, check)
    const from = await showVolume(compute, context, attachment.volumeId)
    const to = await otherVolume(compute, context, newVolumeId)
    const held = await attachmentsOfVolumes(compute.db, [from.id, to.id])
    refuseDetaching(attachment)
    refuseUnknownSharing(context, to)
    refuseOther({ from, to, held, server })
    refuseHeld(to, server.id, cell.id)
    await swap(compute, context, server, {
      ...{ cellId: cell.id, attachmentId: attachment.id, tag: attachment.tag, fromId: from.id },
      to: { id: to.id, attempt: to.attempt, isMultiattach: to.isMultiattach },
    })
  })
}

/** Nova says `invalid` of a volume that only the body of a request names. */
async function otherVolume(compute: Compute, context: RequestContext, id: string): Promise<Volume> {
  try {
    return await showVolume(compute, context, id)
  } catch (error) {
    if (!isFailure(error, 'not-found')) throw error
    throw new Failure('invalid', error.message, { cause: error })
  }
}

interface Swap {
  readonly from: Volume
  readonly to: Volume
  /** Of either. */
  readonly held: readonly VolumeAttachment[]
  readonly server: Pick<ServerRecord, 'id' | 'projectId'>
}

/** Throws `invalid`, in Nova's words where it has any, for a volume that cannot replace the other. */
function refuseOther({ from, to, held, server }: Swap): void {
  const why = whyNot({ from, to, held, server })
  if (why !== undefined) throw new Failure('invalid', why)
}

function whyNot({ from, to, held, server }: Swap): string | undefined {
  const holders = (id: string) => held.filter(({ volumeId }) => volumeId === id).length
  if (holders(to.id) > 0) return 'Invalid volume: New volume must be detached in order to swap.'
  if (to.projectId !== server.projectId)
    return `Invalid volume: Volume ${to.id} and instance ${server.id} are not in the same project.`
  if (to.sizeGb < from.sizeGb) return 'Invalid volume: New volume must be the same size or larger.'
  if (holders(from.id) > 1)
    return 'Swapping multi-attach volumes with more than one read/write attachment is not supported.'
  if (from.isMultiattach !== to.isMultiattach)
    return `Invalid volume: Of volumes ${from.id} and ${to.id} only one is a multiattach volume: detach the one and attach the other instead.`
  const readOnly = [to, from].find(({ isReadOnly }) => isReadOnly === true)
  if (readOnly !== undefined)
    return `Invalid volume: Volume ${readOnly.id} is read-only: detach the one and attach the other instead.`
  if (to.encryption !== null && to.sizeGb !== from.sizeGb)
    return `Invalid volume: Volume ${to.id} is encrypted, and has to be as large as volume ${from.id}.`
  return undefined
}

type Wanted = Pick<SwapVolumeParams, 'cellId' | 'attachmentId' | 'tag' | 'fromId' | 'to'>

async function swap(
  compute: Compute,
  context: RequestContext,
  server: ServerRecord,
  wanted: Wanted,
): Promise<void> {
  const run = await compute.sagas.start(swapVolumeSaga, {
    subject: server.id,
    params: {
      ...wanted,
      ...{ serverId: server.id, attempt: server.attempt, holdId: newId<AttachmentId>() },
      operationIds: { copy: newId<string>(), pivot: newId<string>(), cancel: newId<string>() },
      startedAt: compute.clock.now(),
      ...requesterOf(context, server),
    },
    work: context,
  })
  const failed = `Volume ${wanted.fromId} could not be changed for volume ${wanted.to.id}.`
  await waitForChange(compute, run, failed)
}
