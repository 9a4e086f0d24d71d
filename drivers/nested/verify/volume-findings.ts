import type { Cloud } from '../cloud/cloud.ts'
import type { NestedSettings } from '../settings.ts'
import { GIB } from '../volumes/cloud-volume.ts'
import { stores } from '../volumes/stores.ts'
import { type Finding, finding, warning } from './finding.ts'

/** The room that the quota of the project leaves for volumes; servers can be built there without. */
export async function findVolumes(
  cloud: Cloud,
  settings: NestedSettings,
  signal: AbortSignal,
): Promise<Finding> {
  const found = await finding('volumes', async () => {
    const all = await stores({ cloud, settings }, signal)
    if (all.length === 0) return 'none: the cloud has no Block Storage'
    const room = all.map(({ name, freeBytes }) => `${Math.floor(freeBytes / GIB)} GiB in ${name}`)
    const detail = `free: ${room.join(', ')}`
    const { volumeTypes } = settings
    return all.length > volumeTypes.length
      ? detail
      : warning(`${detail}; of volume_types (${volumeTypes.join(', ')}) it has no other`)
  })
  return found.result === 'failed' ? { ...found, result: 'warning' } : found
}
