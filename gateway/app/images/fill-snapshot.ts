import { changedFormat } from '#common/changed-format.ts'
import { Failure } from '#common/errors.ts'
import { isBackup } from '../../db/backup-parts.ts'
import type { Image } from '../../db/image.ts'
import { formatSnapshot, freeSnapshot, surplusBackups } from '../../db/image-snapshots.ts'
import { findImage } from '../../db/images.ts'
import { hastenReplicas } from '../../db/server-replicas.ts'
import { fillFromChanges, removeOtherParts } from './fill-from-changes.ts'
import { savedFormats } from './formats/format.ts'
import type { Images } from './images.ts'
import { removeImage } from './remove-image.ts'
import { checkTicket } from './ticket.ts'
import { type ContentUpload, fillWith } from './upload-content.ts'
import { noSuchImage } from './visible-image.ts'

export interface SnapshotContent extends ContentUpload {
  readonly ticket: string
  /** The format in which the host stored the disk. */
  readonly diskFormat: string
  /** The image since which the content has the changes of the disk; null: it is the whole disk. */
  readonly changesOf: string | null
}

/**
 * Afterwards the image of a server is active with the content, for a backup with the disk that it makes of the one before, and the backups it supersedes are gone. One that is
 * active already stays as it is, and the answer is false: a cell asks again when an answer was lost. Throws
 * `unauthenticated` for a bad ticket, `not-found` for an image deleted meanwhile, `invalid` for changes that were
 * not requested, and what `uploadContent` does.
 */
export async function fillSnapshot(images: Images, given: SnapshotContent): Promise<boolean> {
  const { imageId, ticket, changesOf } = given
  checkTicket(images.ticketKey, { use: 'fill', ticket, imageId, nowMs: images.clock.now() })
  const format = savedFormat(given.diskFormat)
  const image = await findImage(images.db, imageId)
  if (image === undefined) throw noSuchImage(imageId)
  const isFilled = image.status !== 'active'
  if (isFilled && changesOf !== null && (await isBackup(images.db, imageId))) {
    await fillFromChanges(images, image, { ...given, changesOf })
  } else if (isFilled) {
    await nameFormats(images, image, { ...format, changesOf })
    await fillWith(images, image, given, format.diskFormat)
    await removeOtherParts(images, imageId)
  }
  await settle(images, image)
  return isFilled
}

/** The formats of an image in which a host has saved a disk so. Throws `invalid`. */
export function savedFormat(diskFormat: string): SavedFormats {
  const formats = savedFormats(diskFormat)
  if (formats === undefined)
    throw new Failure('invalid', `The disk format '${diskFormat}' is not known.`)
  return formats
}

type SavedFormats = NonNullable<ReturnType<typeof savedFormats>>

/** Afterwards the image has the formats of what its host has saved. Throws `invalid` for changes that were not requested. */
export async function nameFormats(
  { db }: Images,
  image: Image,
  saved: SavedFormats & { readonly changesOf: string | null },
): Promise<void> {
  const { diskFormat, containerFormat, changesOf } = saved
  if (changesOf !== null && changesOf !== image.changesOf)
    throw new Failure('invalid', `Image ${image.id} is not for the changes of image ${changesOf}.`)
  await formatSnapshot(db, image.id, {
    diskFormat: changesOf === null ? diskFormat : changedFormat(diskFormat),
    containerFormat,
    changesOf,
  })
}

/** A repeated request may fill it again. */
async function settle(images: Images, { id: imageId, properties }: Image): Promise<void> {
  const { kept, isPartOfAct } = await freeSnapshot(images.db, imageId)
  if (isPartOfAct) return
  const { instance_uuid: serverId } = properties
  if (serverId !== undefined) await hastenReplicas(images.db, serverId)
  if (kept === null) return
  for (const id of await surplusBackups(images.db, imageId, kept)) await removeImage(images, id)
}
