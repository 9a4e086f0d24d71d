import type { Executor } from '#common/db/database.ts'
import type { InstanceId } from '#common/ids.ts'
import type { BuildVolume } from '#openapi/wire/instance.ts'
import { attachmentsOfServers } from '../../db/volume-attachments.ts'
import { findVolume } from '../../db/volumes.ts'

/** The volumes that a server has now, as a cell gets them to build the server again on another host. */
export async function volumesToBuildWith(
  db: Executor,
  serverId: InstanceId,
): Promise<readonly BuildVolume[]> {
  const volumes: BuildVolume[] = []
  for (const { id, volumeId, tag, isRoot } of await attachmentsOfServers(db, [serverId])) {
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
