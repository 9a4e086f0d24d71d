import { Failure } from '#common/errors.ts'
import { HOLDING } from '../../db/held-volumes.ts'
import type { Volume } from './volume.ts'

/** What hangs on a volume. */
interface Attached {
  readonly attachments: number
  readonly snapshots: number
}

/** Throws `conflict`, with what to do, for a volume that cannot change cells now. */
export function refuseUnmovable(volume: Volume, { attachments, snapshots }: Attached): void {
  const { status, cellId, encryption, isDeleting, sagaId } = volume
  if (isDeleting) throw unmovable(volume, 'it is being deleted.')
  if (cellId === null) throw unmovable(volume, 'it is in no cell. Delete it.')
  if (encryption !== null)
    throw unmovable(
      volume,
      'it is encrypted, and its key does not leave its cell. Create a volume of a type without encryption with it as its source, and move that.',
    )
  const isHeld = attachments > 0 || (status !== 'available' && HOLDING.has(status))
  if (isHeld) throw unmovable(volume, 'a server uses it. Detach it first.')
  if (status === 'awaiting-transfer')
    throw unmovable(volume, 'it is offered to another project. Withdraw the offer first.')
  if (status !== 'available')
    throw unmovable(volume, `it is ${status}. Repeat the request once it is available.`)
  if (sagaId !== null)
    throw unmovable(volume, 'it is being changed. Repeat the request once that is over.')
  if (snapshots > 0)
    throw unmovable(volume, 'it has snapshots, which cannot leave their store. Delete them first.')
}

export function unmovable({ id }: Pick<Volume, 'id'>, why: string): Failure {
  return new Failure('conflict', `Volume ${id} cannot be moved: ${why}`)
}
