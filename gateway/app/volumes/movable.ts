import { Failure } from '#common/errors.ts'
import type { InstanceId } from '#common/ids.ts'
import { HOLDING } from '../../db/held-volumes.ts'
import type { VolumeAttachment } from '../../db/volume-attachments.ts'
import type { Volume } from './volume.ts'

/** What hangs on a volume. */
export interface Attached {
  readonly attachments: readonly Pick<VolumeAttachment, 'serverId' | 'state'>[]
  /** How many snapshots of it there are. */
  readonly snapshots: number
}

/**
 * Why a volume cannot change cells or stores now, with what to do; undefined: it can. `carrier`: the server that takes it along,
 * and has it; null: none does.
 */
export function whyUnmovable(
  volume: Volume,
  { attachments, snapshots }: Attached,
  carrier: InstanceId | null = null,
): string | undefined {
  const { cellId, isDeleting, sagaId } = volume
  if (isDeleting) return 'it is being deleted.'
  if (cellId === null) return 'it is in no cell. Delete it.'
  const held =
    carrier === null ? whyNotFree(volume, attachments) : whyNotCarried(volume, attachments, carrier)
  if (held !== undefined) return held
  if (sagaId !== null) return 'it is being changed. Repeat the request once that is over.'
  return snapshots > 0
    ? 'it has snapshots, which cannot leave their store. Delete them first.'
    : undefined
}

function whyNotFree(
  { status }: Pick<Volume, 'status'>,
  attachments: Attached['attachments'],
): string | undefined {
  if (attachments.length > 0 || (status !== 'available' && HOLDING.has(status)))
    return 'a server uses it. Detach it first, or move the server, which takes it along.'
  if (status === 'awaiting-transfer')
    return 'it is offered to another project. Withdraw the offer first.'
  if (status !== 'available') return `it is ${status}. Repeat the request once it is available.`
  return undefined
}

function whyNotCarried(
  { status }: Pick<Volume, 'status'>,
  attachments: Attached['attachments'],
  carrier: InstanceId,
): string | undefined {
  const other = attachments.find(({ serverId }) => serverId !== carrier)
  if (other !== undefined) return `server ${other.serverId} uses it too. Detach it there first.`
  const isHeld = attachments.some(({ state }) => state === 'attached')
  if (!isHeld || status !== 'in-use')
    return `it is ${status}. Repeat the request once it is in-use.`
  return undefined
}

/** Throws `conflict`, with what to do, for a volume that cannot change cells now. As `whyUnmovable`. */
export function refuseUnmovable(
  volume: Volume,
  attached: Attached,
  carrier: InstanceId | null = null,
): void {
  const why = whyUnmovable(volume, attached, carrier)
  if (why !== undefined) throw unmovable(volume, why)
}

export function unmovable({ id }: Pick<Volume, 'id'>, why: string): Failure {
  return new Failure('conflict', `Volume ${id} cannot be moved: ${why}`)
}
