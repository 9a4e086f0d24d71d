import { Failure } from '#common/errors.ts'
import { type AttachmentId, newId } from '#common/ids.ts'
import type { SagaRun } from '#common/saga/engine.ts'
import { readFailure } from '#common/saga/log.ts'
import { settledWithin } from '#common/settled-within.ts'
import type { VmState } from '#common/states/instance-states.ts'
import {
  attachmentsOfServers,
  findAttachment,
  queueServerVolumes,
  updateDeletesVolume as setDeletesVolume,
  type VolumeAttachment,
} from '../../db/volume-attachments.ts'
import type { Compute, ComputeDeps } from '../compute.ts'
import { type RequestContext, requesterOf } from '../request-context.ts'
import { retryStale } from '../retry-stale.ts'
import { type ChangeVolumeParams, changeVolumeSaga } from '../sagas/change-volume.ts'
import { refuseLocked } from '../servers/acts/refuse-action.ts'
import { placedServer } from '../servers/boot/placed-server.ts'
import type { ServerRecord } from '../servers/list/server-record.ts'
import { showServer } from '../servers/list/show-server.ts'
import { alreadyHeld, refuseHeld, refuseUnknownSharing } from './hold-volume.ts'
import { showVolume } from './volumes.ts'

/** Less than a client waits for its request; a change without an answer by then continues in the background. */
const WAIT_MS = 15_000
/** The states in which Nova attaches and detaches (nova/compute/api.py `attach_volume`, `detach_volume`). */
const STATES: ReadonlySet<VmState> = new Set(['active', 'paused', 'stopped', 'resized'])

/** The volumes that a server has, the oldest first. */
export async function listAttachments(
  { db }: Pick<ComputeDeps, 'db'>,
  context: RequestContext,
  serverId: string,
): Promise<readonly VolumeAttachment[]> {
  const server = await showServer(db, context, serverId)
  return attachmentsOfServers(db, [server.id])
}

/** How a server has a volume. Throws `not-found`, also for a server there is not. */
export async function showAttachment(
  { db }: Pick<ComputeDeps, 'db'>,
  context: RequestContext,
  serverId: string,
  volumeId: string,
): Promise<VolumeAttachment> {
  const server = await showServer(db, context, serverId)
  const pair = { serverId: server.id, volumeId: volumeId.toLowerCase() }
  return attached(await findAttachment(db, pair), serverId, volumeId)
}

/** Throws `not-found` where there is none. */
function attached(
  found: VolumeAttachment | undefined,
  serverId: string,
  volumeId: string,
): VolumeAttachment {
  if (found !== undefined) return found
  throw new Failure('not-found', `Instance ${serverId} is not attached to volume ${volumeId}`)
}

/** What a user asks for. */
export interface AttachRequest {
  readonly volumeId: string
  readonly tag: string | null
  readonly deletesVolume: boolean
}

/**
 * Afterwards the guest has the volume, or its host is still at it. Throws `not-found` for server or volume; `invalid`
 * for a volume that is not free, that is in another cell, or that the request's microversion does not know; `conflict` in
 * a state that forbids it, and where the server's host does not reach the volume's store; `unavailable` while the cell is
 * unreachable.
 */
export async function attachVolume(
  compute: Compute,
  context: RequestContext,
  serverId: string,
  { volumeId, tag, deletesVolume }: AttachRequest,
): Promise<VolumeAttachment> {
  const check = (record: ServerRecord) => refuseChange(record, context, 'attach_volume')
  return retryStale(compute.clock, async () => {
    const { server, cell } = await placedServer(compute, context, serverId, check)
    const volume = await showVolume(compute, context, volumeId)
    refuseUnknownSharing(context, volume)
    refuseHeld(volume, server.id, cell.id)
    const pair = { serverId: server.id, volumeId: volume.id }
    if (volume.isMultiattach && (await findAttachment(compute.db, pair)) !== undefined)
      throw alreadyHeld(volume)
    const { attempt: volumeAttempt, isMultiattach: isShared, isReadOnly } = volume
    await change(compute, context, server, {
      cellId: cell.id,
      action: 'attach_volume',
      volumeId: volume.id,
      attachmentId: newId<AttachmentId>(),
      tag,
      deletesVolume,
      volume: { volumeAttempt, isShared, isReadOnly: isReadOnly === true },
    })
    return attached(await findAttachment(compute.db, pair), serverId, volumeId)
  })
}

/**
 * Afterwards the guest does not have the volume, or its host is still at it. Throws `not-found` for what is not
 * attached; `conflict` in a state that forbids it, and when the guest does not release the volume.
 */
export async function detachVolume(
  compute: Compute,
  context: RequestContext,
  serverId: string,
  volumeId: string,
): Promise<void> {
  const check = (record: ServerRecord) => refuseChange(record, context, 'detach_volume')
  await retryStale(compute.clock, async () => {
    const attachment = await showAttachment(compute, context, serverId, volumeId)
    if (attachment.isRoot) throw new Failure('invalid', 'Cannot detach a root device volume')
    const { server, cell } = await placedServer(compute, context, serverId, check)
    refuseDetaching(attachment)
    const { id: attachmentId, tag, deletesVolume } = attachment
    await change(compute, context, server, {
      cellId: cell.id,
      action: 'detach_volume',
      volumeId: attachment.volumeId,
      attachmentId,
      tag,
      deletesVolume,
      volume: null,
    })
  })
}

/** Sets whether the volume is deleted with the server; undefined changes nothing. Throws `not-found` for a volume that is not attached. */
export async function updateDeletesVolume(
  { db }: Pick<ComputeDeps, 'db'>,
  context: RequestContext,
  pair: { readonly serverId: string; readonly volumeId: string },
  deletesVolume: boolean | undefined,
): Promise<void> {
  const attachment = await showAttachment({ db }, context, pair.serverId, pair.volumeId)
  if (deletesVolume === undefined) return
  await db.transaction(async (tx) => {
    await setDeletesVolume(tx, attachment.id, deletesVolume)
    queueServerVolumes(tx, attachment.serverId)
  })
}

/** Throws `invalid`, in Cinder's words, for a volume that the server is being given or relieved of. */
export function refuseDetaching({ state }: Pick<VolumeAttachment, 'state'>): void {
  if (state === 'attached') return
  throw new Failure(
    'invalid',
    `Invalid volume: Invalid input received: Invalid volume: Unable to detach volume. Volume status must be 'in-use' and attach_status must be 'attached' to detach. Currently: status: '${state}'.`,
  )
}

/** Throws `conflict` for a server that is locked, at work, or in another than these states. */
export function refuseChange(
  server: ServerRecord,
  context: RequestContext,
  action: string,
  states: ReadonlySet<VmState> = STATES,
): void {
  refuseLocked(server, context)
  if (server.taskState !== null)
    throw new Failure(
      'conflict',
      `Cannot '${action}' instance ${server.id} while it is in task_state ${server.taskState}`,
    )
  if (!states.has(server.vmState))
    throw new Failure(
      'conflict',
      `Cannot '${action}' instance ${server.id} while it is in vm_state ${server.vmState}`,
    )
}

type Change = Pick<
  ChangeVolumeParams,
  'cellId' | 'action' | 'volumeId' | 'attachmentId' | 'tag' | 'deletesVolume' | 'volume'
>

async function change(
  compute: Compute,
  context: RequestContext,
  server: ServerRecord,
  wanted: Change,
): Promise<void> {
  const run = await compute.sagas.start(changeVolumeSaga, {
    subject: server.id,
    params: {
      ...wanted,
      serverId: server.id,
      attempt: server.attempt,
      operationId: newId<string>(),
      ...requesterOf(context, server),
    },
    work: context,
  })
  await waitForChange(compute, run, `Volume ${wanted.volumeId} could not be changed.`)
}

/** Afterwards the change is done, or goes on in the background. Throws the failure of one that was undone. */
export async function waitForChange(
  { clock, db }: Pick<Compute, 'clock' | 'db'>,
  run: SagaRun,
  otherwise: string,
): Promise<void> {
  const outcome = await settledWithin(clock, WAIT_MS, run.finished)
  if (outcome !== 'unwound' && outcome !== 'stuck') return
  const failure = await readFailure(db, run.id)
  throw failure ?? new Failure('conflict', otherwise)
}
