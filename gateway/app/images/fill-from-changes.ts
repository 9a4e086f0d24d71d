import { randomUUID } from 'node:crypto'
import { changedFormat } from '#common/changed-format.ts'
import { Failure } from '#common/errors.ts'
import { mergeChanges } from '#common/qcow2/merge-changes.ts'
import { backupParts, propertiesOfPart } from '../../db/backup-parts.ts'
import type { Image, ImageContent } from '../../db/image.ts'
import { formatSnapshot, markSnapshot } from '../../db/image-snapshots.ts'
import { findImage, insertImage } from '../../db/images.ts'
import type { Images } from './images.ts'
import { removeImage } from './remove-image.ts'
import { storedDisk } from './store/stored-disk.ts'
import { type ContentUpload, fillWith } from './upload-content.ts'

/** The only format of which hosts save changes. */
const FORMAT = 'qcow2'
/** A host waits ten minutes for its answer, and a larger disk might take longer to be copied and hashed. */
const BEFORE_BYTES_MAX = 64 * 2 ** 30

export interface BackupContent extends ContentUpload {
  readonly diskFormat: string
  /** The backup since which the content has the changes. */
  readonly changesOf: string
}

/**
 * Afterwards the image of a backup is active with a whole disk: that of the backup before, with the changes. These are kept
 * beside it for cells that have that backup. Throws `invalid` where the disk cannot be made of the two: the host then sends
 * all of it; and what `uploadContent` does.
 */
export async function fillFromChanges(
  images: Images,
  image: Image,
  { changesOf, diskFormat, ...upload }: BackupContent,
): Promise<void> {
  const before = await backupBefore(images, image, changesOf)
  if (diskFormat !== FORMAT)
    throw new Failure('invalid', `Changes of a disk in the format '${diskFormat}' are not known.`)
  const part = await newPart(images, image, { id: changesOf, ...before })
  try {
    await fillWith(images, part, upload, FORMAT)
    const changes = (await findImage(images.db, part.id))?.content
    if (!changes) throw new Failure('conflict', `Image ${part.id} was deleted meanwhile.`)
    const { store } = images
    const disk = await mergeChanges(storedDisk(store, before), storedDisk(store, changes))
    const formats = { diskFormat: FORMAT, containerFormat: 'bare', changesOf: null }
    await formatSnapshot(images.db, image.id, formats)
    const content = { imageId: image.id, body: disk.stream(), declaredBytes: disk.sizeBytes }
    await fillWith(images, image, content, FORMAT)
  } catch (error) {
    await removeImage(images, part.id)
    throw error
  }
  await removeOtherParts(images, image.id, part.id)
}

/** Afterwards the image of a backup has none of the changes that belong to tries which a gateway did not live to end. */
export async function removeOtherParts(
  images: Images,
  imageId: string,
  part?: string,
): Promise<void> {
  for (const id of await backupParts(images.db, imageId))
    if (id !== part) await removeImage(images, id)
}

/** The content of the backup. Throws `invalid` unless it is one of the same server and project, as a host has saved it. */
async function backupBefore(
  { db }: Images,
  { id, owner, properties }: Image,
  beforeId: string,
): Promise<ImageContent> {
  const before = await findImage(db, beforeId)
  const content = before?.status === 'active' ? before.content : null
  const isOfServer =
    before?.owner === owner && before.properties['instance_uuid'] === properties['instance_uuid']
  if (!content || !isOfServer || before.diskFormat !== FORMAT || before.containerFormat !== 'bare')
    throw new Failure('invalid', `Image ${id} cannot be made of changes of image ${beforeId}.`)
  if (content.sizeBytes > BEFORE_BYTES_MAX)
    throw new Failure(
      'invalid',
      `Image ${beforeId} has ${content.sizeBytes} bytes, too many to make another of.`,
    )
  return content
}

/** An image for the changes alone, which no request may name and no quota counts. */
async function newPart(
  { db, clock }: Images,
  { id: imageId, name, owner }: Image,
  before: { readonly id: string; readonly sha256: string; readonly sizeBytes: number },
): Promise<Image> {
  const id = randomUUID()
  const fields = {
    ...{ name: `${name ?? ''}-changes`, owner, properties: propertiesOfPart(before), tags: [] },
    visibility: 'private' as const,
    ...{ diskFormat: changedFormat(FORMAT), containerFormat: 'bare', minDiskGb: 0, minRamMb: 0 },
    ...{ isProtected: false, isHidden: false },
  }
  await db.transaction(async (tx) => {
    await insertImage(tx, { id, fields, now: new Date(clock.now()) })
    const mark = { sourceId: imageId, backupsKept: null, changesOf: before.id }
    await markSnapshot(tx, id, { ...mark, purpose: 'backup-part' })
  })
  const part = await findImage(db, id)
  if (part === undefined) throw new Failure('conflict', `Image ${id} was deleted meanwhile.`)
  return part
}
