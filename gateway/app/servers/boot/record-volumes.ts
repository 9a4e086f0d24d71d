import type { Tx } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import type { CellId, InstanceId, SagaId } from '#common/ids.ts'
import { queueHeldStatus } from '../../../db/held-volumes.ts'
import {
  attachmentsOfServers,
  queueAttached,
  queueAttachment,
  queueServerVolumes,
} from '../../../db/volume-attachments.ts'
import { lockVolume, lockVolumes } from '../../../db/volumes.ts'
import { recordVolume } from '../../volumes/create-volume.ts'
import { beginAttachment, notFree } from '../../volumes/hold-volume.ts'
import { chargeVolumes } from '../../volumes/quotas.ts'
import type { PlannedServer } from '../list/server-order.ts'
import type { PlannedVolume } from './plan-volumes.ts'

/**
 * Afterwards the server, whose row is there, has its volumes, and those that are to be made are promised: `sagaId` makes
 * them. A server in no cell gets none. Throws `invalid` for a volume that is not free any more.
 */
export async function recordVolumes(
  tx: Tx,
  { row, volumes }: PlannedServer,
  sagaId: SagaId,
): Promise<void> {
  const { id: serverId, cellId, flavor } = row
  if (volumes.length === 0 || cellId === null) return
  const names = deviceNames(flavor)
  // Always in the same order, so that requests for the same volumes wait for each other.
  const locked = volumes.toSorted((a, b) => (a.volumeId < b.volumeId ? -1 : 1))
  for (const planned of locked) {
    const device = planned.requested.isRoot ? '/dev/vda' : names[indexOf(volumes, planned)]!
    await hold(tx, planned, { serverId, cellId, sagaId, device })
  }
  queueServerVolumes(tx, serverId)
}

interface Holder {
  readonly serverId: InstanceId
  readonly cellId: CellId
  readonly sagaId: SagaId
  readonly device: string
}

async function hold(
  tx: Tx,
  { attachmentId, volumeId, described, requested }: PlannedVolume,
  { serverId, cellId, sagaId, device }: Holder,
): Promise<void> {
  const { tag, deletesVolume, isRoot } = requested
  const wanted = { attachmentId, serverId, tag, deletesVolume, isRoot, device }
  if (described !== undefined) {
    const made = { id: volumeId, cellId, status: 'creating', fault: null, sagaId } as const
    await recordVolume(tx, { ...described.row, ...made })
    const status = 'creating'
    const otherwise = () => notFree({ id: volumeId, status })
    queueAttachment(tx, { ...wanted, id: attachmentId, volumeId }, otherwise)
    return
  }
  const volume = await lockVolume(tx, volumeId)
  if (volume === undefined) throw new Failure('not-found', `Volume ${volumeId} could not be found.`)
  beginAttachment(tx, volume, wanted, cellId)
}

/** Among those that are not the first disk, which have the names after it and the flavor's other disks. */
function indexOf(volumes: readonly PlannedVolume[], volume: PlannedVolume): number {
  return volumes.filter(({ requested }) => !requested.isRoot).indexOf(volume)
}

function deviceNames({ ephemeralGb, swapMb }: PlannedServer['row']['flavor']): readonly string[] {
  const own = 1 + Number(ephemeralGb > 0) + Number(swapMb > 0)
  return 'abcdefghijklmnopqrstuvwxyz'
    .split('')
    .slice(own)
    .map((letter) => `/dev/vd${letter}`)
}

/** Afterwards the project is charged for the volumes that are made with the servers. Throws `over-quota`. Call it last. */
export async function chargeNewVolumes(tx: Tx, servers: readonly PlannedServer[]): Promise<void> {
  for (const { row, volumes } of servers)
    for (const { described } of row.cellId === null ? [] : volumes)
      if (described !== undefined)
        await chargeVolumes(tx, described.row, { volumes: 1, gigabytes: described.row.sizeGb })
}

/** Afterwards a server that its cell builds shows the volumes that it is built with as attached. */
export async function showVolumesAttached(tx: Tx, serverId: InstanceId): Promise<void> {
  const attachments = await attachmentsOfServers(tx, [serverId])
  const volumes = await lockVolumes(
    tx,
    attachments.map(({ volumeId }) => volumeId),
  )
  for (const { id } of attachments) queueAttached(tx, id)
  for (const { id } of volumes) queueHeldStatus(tx, id)
}
