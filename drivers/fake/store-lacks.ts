import { Failure } from '#common/errors.ts'
import type { VolumeId } from '#common/ids.ts'
import type { FakeHost } from './host.ts'
import type { VolumeFolder } from './volume-folder.ts'

/** `copy`: into another volume, or into an image. */
export type LackableWork = 'snapshot' | 'extend' | 'copy'

/**
 * Throws `unsupported` or `conflict`, as engines do, for what the settings say that the store cannot do with the volume.
 */
export function refuseLacking(
  { settings: { volumeStoreLacks = [] } }: Pick<FakeHost, 'settings'>,
  folder: VolumeFolder,
  work: LackableWork,
  id: VolumeId,
): void {
  if (volumeStoreLacks.length === 0) return
  folder.get(id)
  if (work === 'snapshot' && volumeStoreLacks.includes('snapshots'))
    throw new Failure('unsupported', 'The store makes no snapshots.')
  const openers = folder.openers(id)
  const lack = work === 'extend' ? 'extend-in-use' : 'copy-in-use'
  const isRefused = work !== 'snapshot' && volumeStoreLacks.includes(lack)
  const isShared = work !== 'extend' && openers.some((each) => each.isShared)
  if (!isRefused && !(isShared && volumeStoreLacks.includes('copy-shared-in-use'))) return
  if (openers.length > 0) throw new Failure('conflict', `A guest has volume ${id} open.`)
}
