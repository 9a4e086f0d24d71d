import { Failure, isFailure } from '#common/errors.ts'
import type { Image } from '../../db/image.ts'
import type { Requester } from '../requester.ts'
import { deleteImage } from './delete-image.ts'
import { propertyValue } from './image-properties.ts'
import type { Images } from './images.ts'
import { changeProperties } from './update-image.ts'
import { visibleImage } from './visible-image.ts'

/** The metadata of Nova's image proxy: the custom properties of an image. */
export type ImageMetadata = Readonly<Record<string, string>>

/** The image as Nova's clients ask for it. Throws `not-found` in Nova's words. */
export function proxiedImage(images: Images, requester: Requester, id: string): Promise<Image> {
  return inNovasWords(visibleImage(images, requester, id))
}

/** As `deleteImage`, failing in Nova's words. */
export function deleteProxiedImage(
  images: Images,
  requester: Requester,
  id: string,
): Promise<void> {
  return inNovasWords(deleteImage(images, requester, id))
}

/**
 * Afterwards the image has these items, and with `keep` also those it had under other keys. Returns all of them.
 * Throws `not-found`, `forbidden`, and `over-quota` for too many.
 */
export async function setImageMetadata(
  images: Images,
  requester: Requester,
  id: string,
  { items, keep }: { readonly items: ImageMetadata; readonly keep: boolean },
): Promise<ImageMetadata> {
  for (const [name, value] of Object.entries(items)) propertyValue(name, value)
  const changed = changeProperties(images, requester, id, (properties) =>
    keep ? { ...properties, ...items } : items,
  )
  return (await inNovasWords(changed)).properties
}

/** One item under its key. Throws `not-found`. */
export async function imageMetadataItem(
  images: Images,
  requester: Requester,
  id: string,
  key: string,
): Promise<ImageMetadata> {
  const { properties } = await proxiedImage(images, requester, id)
  return { [key]: itemOf(properties, key) }
}

/** Afterwards the image has no item of that key. Throws `not-found`, `forbidden`. */
export async function deleteImageMetadataItem(
  images: Images,
  requester: Requester,
  id: string,
  key: string,
): Promise<void> {
  itemOf((await proxiedImage(images, requester, id)).properties, key)
  const without = (properties: ImageMetadata) =>
    Object.fromEntries(Object.entries(properties).filter(([name]) => name !== key))
  await inNovasWords(changeProperties(images, requester, id, without))
}

function itemOf(metadata: ImageMetadata, key: string): string {
  const value = Object.hasOwn(metadata, key) ? metadata[key] : undefined
  if (value === undefined) throw new Failure('not-found', 'Invalid metadata key')
  return value
}

async function inNovasWords<T>(work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    if (!isFailure(error, 'not-found')) throw error
    throw new Failure('not-found', 'Image not found.', { cause: error })
  }
}
