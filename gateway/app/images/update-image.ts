import { Failure } from '#common/errors.ts'
import { fieldsOf, type Image, type ImageFields } from '../../db/image.ts'
import { findImage, updateImage as writeImage } from '../../db/images.ts'
import type { Requester } from '../requester.ts'
import { retryStale } from '../retry-stale.ts'
import { CONTAINER_FORMATS, DISK_FORMATS } from './formats/format.ts'
import { checkFields } from './image-fields.ts'
import type { Images } from './images.ts'
import {
  type LegacyPatchOperation,
  type PatchOperation,
  patchImage,
  patchOperations,
} from './patch-image.ts'
import { noSuchImage, ownImage } from './visible-image.ts'

/** Afterwards the image has the patch applied to its newest revision. */
export function updateImage(
  images: Images,
  requester: Requester,
  id: string,
  given: readonly (PatchOperation | LegacyPatchOperation)[],
): Promise<Image> {
  const operations = patchOperations(given)
  return changeImage(images, requester, id, (image) => patchImage(image, operations))
}

/** Afterwards the image has the custom properties that `change` makes of its newest ones. */
export function changeProperties(
  images: Images,
  requester: Requester,
  id: string,
  change: (properties: Image['properties']) => Image['properties'],
): Promise<Image> {
  return changeImage(images, requester, id, (image) => ({
    ...image,
    properties: change(image.properties),
  }))
}

/** Afterwards the image has this tag. */
export async function addImageTag(
  images: Images,
  requester: Requester,
  id: string,
  tag: string,
): Promise<void> {
  await changeImage(images, requester, id, (image) => ({
    ...image,
    tags: [...new Set([...image.tags, tag])].sort(),
  }))
}

/** Afterwards the image has no such tag. Throws `not-found` when it had none. */
export async function removeImageTag(
  images: Images,
  requester: Requester,
  id: string,
  tag: string,
): Promise<void> {
  await changeImage(images, requester, id, (image) => {
    if (!image.tags.includes(tag))
      throw new Failure('not-found', `Image ${id} has no tag '${tag}'.`)
    return { ...image, tags: image.tags.filter((other) => other !== tag) }
  })
}

/** Decides again from fresh data when another change came between. */
async function changeImage(
  images: Images,
  requester: Requester,
  id: string,
  decide: (image: Image) => ImageFields,
): Promise<Image> {
  await retryStale(images.clock, async () => {
    const image = await ownImage(images, requester, id, 'modify')
    const fields = decide(image)
    checkFields(fields, requester, image)
    checkFormats(fields)
    const now = new Date(images.clock.now())
    await images.db.transaction((tx) => writeImage(tx, image, fieldsOf(fields), now))
  })
  const changed = await findImage(images.db, id)
  if (changed === undefined) throw noSuchImage(id)
  return changed
}

function checkFormats(fields: ImageFields): void {
  const { diskFormat, containerFormat } = fields
  if (diskFormat !== null && !DISK_FORMATS.some((known) => known === diskFormat))
    throw new Failure('invalid', `disk_format must be one of ${DISK_FORMATS.join(', ')}.`)
  if (containerFormat !== null && !CONTAINER_FORMATS.some((known) => known === containerFormat))
    throw new Failure('invalid', `container_format must be one of ${CONTAINER_FORMATS.join(', ')}.`)
}
