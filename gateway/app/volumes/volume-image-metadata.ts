import { Failure } from '#common/errors.ts'
import { own } from '#common/own.ts'
import { propertyValue, WRITABLE_ATTRIBUTES } from '../images/image-properties.ts'
import type { Volume } from './volume.ts'

type Metadata = Readonly<Record<string, string>>

/** Of one volume, as many as an image may have properties, besides what describes the content. */
const PAIRS_MAX = 136

/** What Cinder keeps of an image itself under these names, and which values servers can be started with. */
const OF_CONTENT: Readonly<Record<string, { readonly is: RegExp; readonly said: string }>> = {
  image_id: {
    is: /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/,
    said: 'the id of an image, in lower case',
  },
  image_name: { is: /^/, said: 'a text' },
  checksum: { is: /^/, said: 'a text' },
  container_format: { is: /^/, said: 'a text' },
  disk_format: { is: /^/, said: 'a text' },
  min_disk: { is: /^\d{1,9}$/, said: 'a number of GiB' },
  min_ram: { is: /^\d{1,9}$/, said: 'a number of MiB' },
  size: { is: /^\d{1,15}$/, said: 'a number of bytes' },
}

/**
 * What a volume knows of an image, with these pairs as well. Throws `invalid` for values that no image has, for names of
 * images' own attributes, which an image made of the volume would show instead of its own, and for too many pairs; `forbidden`
 * for names that the image service keeps to itself.
 */
export function imageMetadataWith({ imageMetadata }: Volume, pairs: Metadata): Metadata {
  for (const [key, value] of Object.entries(pairs)) refuseUnfit(key, value)
  const before = imageMetadata ?? {}
  const all = { ...before, ...pairs }
  const count = Object.keys(all).length
  if (count > PAIRS_MAX && count > Object.keys(before).length)
    throw new Failure('invalid', `A volume has at most ${PAIRS_MAX} pairs of image metadata.`)
  return all
}

function refuseUnfit(key: string, value: string): void {
  const known = own(OF_CONTENT, key)
  if (known?.is.test(value) === false)
    throw new Failure(
      'invalid',
      `Invalid input for image metadata ${key}: '${value}' is not ${known.said}.`,
    )
  if (known !== undefined) return
  if (WRITABLE_ATTRIBUTES.has(key) || key === 'id')
    throw new Failure(
      'invalid',
      `Invalid input for image metadata: ${key} is an attribute of images and no property. Set it at the image that you make of the volume.`,
    )
  propertyValue(key, value)
}

/** The same without a pair. Throws `not-found`, in Cinder's words, for a key that there is not. */
export function imageMetadataWithout({ id, imageMetadata }: Volume, key: string): Metadata | null {
  const { [key]: value, ...left } = imageMetadata ?? {}
  if (value === undefined)
    throw new Failure('not-found', `Glance metadata for volume/snapshot ${id} cannot be found.`)
  return Object.keys(left).length === 0 ? null : left
}
