import type { Executor } from '#common/db/database.ts'
import type { InstanceId } from '#common/ids.ts'
import type { BuildVolume } from '#openapi/wire/instance.ts'
import { attachmentsOfServers, type VolumeAttachment } from '../../db/volume-attachments.ts'
import { findVolume } from '../../db/volumes.ts'

/** The attachments of a server in the order of the disks that its guest sees; the one that it starts from comes first. */
export async function attachmentsInOrder(
  db: Executor,
  serverId: InstanceId,
): Promise<readonly VolumeAttachment[]> {
  const rank = ({ isRoot, device }: VolumeAttachment) => (isRoot ? '' : (device ?? '~'))
  const attachments = await attachmentsOfServers(db, [serverId])
  return attachments.toSorted((a, b) => (rank(a) < rank(b) ? -1 : 1))
}

/** The volumes that a server has now, as a cell gets them to build the server again on another host. */
export async function volumesToBuildWith(
  db: Executor,
  serverId: InstanceId,
): Promise<readonly BuildVolume[]> {
  const volumes: BuildVolume[] = []
  for (const { id, volumeId, tag, isRoot } of await attachmentsInOrder(db, serverId)) {
    const volume = await findVolume(db, volumeId)
    if (volume === undefined) continue
    volumes.push({
      id,
      volumeId,
      volumeAttempt: volume.attempt,
      isReadOnly: false,
      isShared: volume.isMultiattach,
      ...(tag !== null && { tag }),
      ...(isRoot && { isRoot: true as const }),
    })
  }
  return volumes
}
