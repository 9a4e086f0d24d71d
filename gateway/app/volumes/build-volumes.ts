import type { Executor } from '#common/db/database.ts'
import type { InstanceId } from '#common/ids.ts'
import type { BuildVolume } from '#openapi/wire/instance.ts'
import { attachmentsOfServers, type VolumeAttachment } from '../../db/volume-attachments.ts'
import { findVolume } from '../../db/volumes.ts'
import type { BuildSpec } from '../servers/boot/build-spec.ts'

/** The attachments of a server in the order of the disks that its guest sees; the one that it starts from comes first. */
export async function attachmentsInOrder(
  db: Executor,
  serverId: InstanceId,
): Promise<readonly VolumeAttachment[]> {
  const rank = ({ isRoot, device }: VolumeAttachment) => (isRoot ? '' : (device ?? '~'))
  const attachments = await attachmentsOfServers(db, [serverId])
  return attachments.toSorted((a, b) => (rank(a) < rank(b) ? -1 : 1))
}

/** The server as it was requested, with the volumes that it has now instead of those that it had then. */
export async function withVolumesOfNow(
  db: Executor,
  serverId: InstanceId,
  { volumes: _former, ...spec }: BuildSpec,
): Promise<BuildSpec> {
  const volumes = await volumesToBuildWith(db, serverId)
  return volumes.length === 0 ? spec : { ...spec, volumes: [...volumes] }
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
      isReadOnly: volume.isReadOnly === true,
      isShared: volume.isMultiattach,
      ...(tag !== null && { tag }),
      ...(isRoot && { isRoot: true as const }),
    })
  }
  return volumes
}
