import { IMAGE_STATUSES, IMAGE_VISIBILITIES } from '#common/states/image-states.ts'
import { CONTAINER_FORMATS, DISK_FORMATS } from '../../app/images/formats/format.ts'

const text = { type: 'string' }
const maybeText = { type: ['null', 'string'] }
const maybeCount = { type: ['null', 'integer'] }
const flag = { type: 'boolean' }
const readOnly = { readOnly: true }

/** The JSON schema of an image, which glanceclient reads to tell attributes from properties. */
export const IMAGE_SCHEMA = {
  name: 'image',
  properties: {
    id: { ...text, pattern: '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' },
    name: { ...maybeText, maxLength: 255 },
    status: { ...text, ...readOnly, enum: IMAGE_STATUSES },
    visibility: { ...text, enum: IMAGE_VISIBILITIES },
    owner: { ...maybeText, maxLength: 255 },
    size: { ...maybeCount, ...readOnly },
    virtual_size: { ...maybeCount, ...readOnly },
    checksum: { ...maybeText, ...readOnly, maxLength: 32 },
    os_hash_algo: { ...maybeText, ...readOnly, maxLength: 64 },
    os_hash_value: { ...maybeText, ...readOnly, maxLength: 128 },
    disk_format: { ...maybeText, enum: [null, ...DISK_FORMATS] },
    container_format: { ...maybeText, enum: [null, ...CONTAINER_FORMATS] },
    min_disk: { type: 'integer' },
    min_ram: { type: 'integer' },
    protected: flag,
    os_hidden: flag,
    tags: { type: 'array', items: { ...text, maxLength: 255 } },
    created_at: { ...text, ...readOnly },
    updated_at: { ...text, ...readOnly },
    self: { ...text, ...readOnly },
    file: { ...text, ...readOnly },
    schema: { ...text, ...readOnly },
  },
  additionalProperties: text,
  links: [
    { rel: 'self', href: '{self}' },
    { rel: 'enclosure', href: '{file}' },
    { rel: 'describedby', href: '{schema}' },
  ],
}

/** The JSON schema of a page of images. */
export const IMAGES_SCHEMA = {
  name: 'images',
  properties: {
    images: { type: 'array', items: IMAGE_SCHEMA },
    first: text,
    next: text,
    schema: text,
  },
  links: [
    { rel: 'first', href: '{first}' },
    { rel: 'next', href: '{next}' },
    { rel: 'describedby', href: '{schema}' },
  ],
}
