import { markSnapshot, unneededSnapshots } from '../../../db/image-snapshots.ts'
import { findImage, insertImage } from '../../../db/images.ts'
import { COPY_OF_MOVE } from '../../../db/parts-of-moves.ts'
import { chargeImage } from '../../images/image-quota.ts'
import type { Images } from '../../images/images.ts'
import { removeImage, removeImageRow } from '../../images/remove-image.ts'
import { issueTicket } from '../../images/ticket.ts'
import type { ServerImages } from './server-images.ts'

/** A disk may have to be copied on its host before the upload begins. */
const TICKET_LIFE_MS = 24 * 3_600_000
const TIDIED_MAX = 100

/** Saves servers and volumes in images of the gateway's own image service. */
export function embeddedImages(images: Images): ServerImages {
  return {
    async reserve(tx, order) {
      const { imageId, owner, name, minDiskGb, minRamMb, properties } = order
      const { diskFormat = null, visibility = 'private', isProtected = false } = order
      const isPartOfMove = order.purpose === COPY_OF_MOVE || order.changesOf !== undefined
      const fields = {
        name,
        visibility,
        owner,
        diskFormat,
        containerFormat: diskFormat === null ? null : 'bare',
        minDiskGb,
        minRamMb,
        isProtected,
        isHidden: false,
        properties,
        tags: [],
      } as const
      await insertImage(tx, { id: imageId, fields, now: new Date(images.clock.now()) })
      await markSnapshot(tx, imageId, order)
      if (!isPartOfMove) await chargeImage(tx, owner, images.limits)
    },
    async withdraw(tx, imageId) {
      const image = await findImage(tx, imageId)
      if (image !== undefined) await removeImageRow(tx, image)
    },
    fillTicket(imageId, cellId) {
      const expiresAtMs = images.clock.now() + TICKET_LIFE_MS
      return issueTicket(images.ticketKey, { use: 'fill', imageId, cellId, expiresAtMs })
    },
    async tidy(mayRemove = () => Promise.resolve(true)) {
      const ids = await unneededSnapshots(images.db, TIDIED_MAX)
      if (ids.length === 0 || !(await mayRemove())) return 0
      for (const id of ids) await removeImage(images, id)
      return ids.length
    },
  }
}
