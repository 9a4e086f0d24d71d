import { givenDisk } from '../given-disk.ts'
import type { StoreReimage } from '../store.ts'
import { hold, refuseHeld } from './iscsi-holders.ts'
import type { IscsiSession } from './iscsi-session.ts'
import { type IscsiWork, madeLun, withLuns } from './iscsi-volumes.ts'
import { keyOf, mustRelabel, writing } from './lun-claims.ts'
import { fillFromDisk, wipe } from './lun-content.ts'
import type { LunUse } from './lun-label.ts'
import type { Lun } from './luns.ts'

/**
 * Afterwards the volume has the content of the image, and zeros behind its end. The LUN says meanwhile that it is half
 * written, and no guest opens it.
 */
export async function reimageVolume(
  { store, owner, images, copies }: IscsiWork,
  { id, image, root }: StoreReimage,
  signal: AbortSignal,
): Promise<void> {
  const { login } = store
  const file = await givenDisk({ images, copies }, { id, from: { image } }, signal)
  const reimage = async (session: IscsiSession, luns: readonly Lun[]) => {
    const lun = madeLun(luns, owner, id)
    const at = { session, lun, ...owner }
    await (root === undefined ? refuseHeld(at, id) : hold(at, root))
    const { by: _, ...use } = lun.label.use
    const { bytes } = use
    const labelled = (change: Partial<LunUse>) => ({ ...lun.label, use: { ...use, ...change } })
    const half = { ...lun, label: labelled({ state: 'reimaging', by: owner.hostId }) }
    await mustRelabel(session, lun, half.label)
    await wipe(login, lun, { from: 0, to: bytes }, signal)
    await fillFromDisk(login, lun, { disk: file!, bytes }, signal)
    await mustRelabel(session, half, labelled({ state: 'ready' }))
  }
  await writing.run(keyOf(owner, id), signal, () => withLuns(store, signal, reimage))
}
