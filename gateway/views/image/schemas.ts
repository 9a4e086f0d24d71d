import {
  IMAGE_MEMBER_STATUSES,
  IMAGE_STATUSES,
  IMAGE_TASK_STATUSES,
  IMAGE_VISIBILITIES,
} from '#common/states/image-states.ts'
import { CONTAINER_FORMATS, DISK_FORMATS } from '../../app/images/formats/format.ts'
import { TASK_TYPE } from '../../app/images/tasks.ts'

const text = { type: 'string' }
const maybeText = { type: ['null', 'string'] }
const maybeCount = { type: ['null', 'integer'] }
const flag = { type: 'boolean' }
const readOnly = { readOnly: true }

/** The JSON schema of an image, which glanceclient reads to tell attributes from properties. */
const IMAGE_SCHEMA = {
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

function listSchema(name: string, item: object) {
  return {
    name,
    properties: { [name]: { type: 'array', items: item }, first: text, next: text, schema: text },
    links: [
      { rel: 'first', href: '{first}' },
      { rel: 'next', href: '{next}' },
      { rel: 'describedby', href: '{schema}' },
    ],
  }
}

const MEMBER_SCHEMA = {
  name: 'member',
  properties: {
    member_id: text,
    image_id: text,
    status: { ...text, enum: IMAGE_MEMBER_STATUSES },
    created_at: text,
    updated_at: text,
    schema: { ...text, ...readOnly },
  },
}

const TASK_SCHEMA = {
  name: 'task',
  properties: {
    id: text,
    type: { ...text, enum: [TASK_TYPE] },
    status: { ...text, enum: IMAGE_TASK_STATUSES },
    owner: text,
    image_id: text,
    request_id: text,
    user_id: text,
    input: { type: ['null', 'object'] },
    result: { type: ['null', 'object'] },
    message: text,
    created_at: text,
    updated_at: text,
    expires_at: maybeText,
    self: { ...text, ...readOnly },
    schema: { ...text, ...readOnly },
  },
}

type JsonSchema = Readonly<Record<string, unknown>>

const SCHEMAS: ReadonlyMap<string, JsonSchema> = new Map<string, JsonSchema>([
  ['image', IMAGE_SCHEMA],
  ['images', listSchema('images', IMAGE_SCHEMA)],
  ['member', MEMBER_SCHEMA],
  ['members', listSchema('members', MEMBER_SCHEMA)],
  ['task', TASK_SCHEMA],
  ['tasks', listSchema('tasks', TASK_SCHEMA)],
])

/** The JSON schema Glance's clients know by this name. */
export function schemaNamed(name: string): JsonSchema | undefined {
  return SCHEMAS.get(name)
}
