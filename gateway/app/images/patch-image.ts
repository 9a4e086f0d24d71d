import { Failure } from '#common/errors.ts'
import { IMAGE_VISIBILITIES } from '#common/states/image-states.ts'
import { fieldsOf, type Image, type ImageFields } from '../../db/image.ts'
import { isReserved, READ_ONLY_ATTRIBUTES } from './image-fields.ts'
import { propertyValue, WRITABLE_ATTRIBUTES } from './image-properties.ts'

/** One operation of Glance's subset of JSON Patch (RFC 6902): paths have one segment. */
export interface PatchOperation {
  readonly op: (typeof OPERATIONS)[number]
  readonly path: string
  readonly value?: unknown
}

const OPERATIONS = ['add', 'replace', 'remove'] as const

/** An operation as the v2.0 media type writes it: its name is the key of the path. */
export type LegacyPatchOperation = Readonly<Partial<Record<PatchOperation['op'], string>>> & {
  readonly value?: unknown
}

/** The operations in the newer form. Throws `invalid` for one that is none, or several. */
export function patchOperations(
  given: readonly (PatchOperation | LegacyPatchOperation)[],
): readonly PatchOperation[] {
  return given.map((operation) => {
    if ('op' in operation) return operation
    const named = OPERATIONS.filter((op) => operation[op] !== undefined)
    const [op] = named
    const path = op === undefined ? undefined : operation[op]
    if (op === undefined || path === undefined || named.length > 1)
      throw new Failure('invalid', 'Operations must contain exactly one of add, replace, remove.')
    return { op, path, value: operation.value }
  })
}

/**
 * The image's fields after these operations, in order. Throws `forbidden` for attributes that are not the user's,
 * `conflict` for a property that is not there, `invalid` for values of the wrong type.
 */
export function patchImage(image: Image, operations: readonly PatchOperation[]): ImageFields {
  return operations.reduce<ImageFields>(
    (fields, operation) => applyOperation(fields, operation, image),
    fieldsOf(image),
  )
}

function applyOperation(fields: ImageFields, operation: PatchOperation, image: Image): ImageFields {
  const name = attributeOf(operation.path)
  if (READ_ONLY_ATTRIBUTES.has(name))
    throw new Failure('forbidden', `Attribute '${name}' is read-only.`)
  if (isReserved(name)) throw new Failure('forbidden', `Attribute '${name}' is reserved.`)
  if (!WRITABLE_ATTRIBUTES.has(name)) return patchProperty(fields, name, operation)
  if (operation.op === 'remove') return removeAttribute(fields, name)
  if (operation.value === undefined)
    throw new Failure('invalid', 'Operations to add or replace need a value.')
  if (name.endsWith('_format') && image.status !== 'queued')
    throw new Failure('forbidden', `Attribute ${name} can only be replaced on a queued image.`)
  return { ...fields, ...ATTRIBUTES[name]!(operation.value) }
}

/** RFC 6901: `~1` is a slash and `~0` a tilde, in that order of decoding. */
function attributeOf(path: string): string {
  const segments = path.split('/')
  if (segments.length !== 2 || segments[0] !== '' || segments[1] === '')
    throw new Failure('invalid', `Invalid JSON pointer for this resource: '${path}'`)
  const segment = segments[1]!
  if (/~(?![01])/.test(segment))
    throw new Failure(
      'invalid',
      `Pointer '${path}' contains '~' not part of a recognized escape sequence.`,
    )
  return segment.replaceAll('~1', '/').replaceAll('~0', '~')
}

function patchProperty(fields: ImageFields, name: string, operation: PatchOperation): ImageFields {
  if (operation.op !== 'add' && !Object.hasOwn(fields.properties, name))
    throw new Failure('conflict', `Property ${name} does not exist.`)
  if (operation.op === 'remove') {
    const rest = Object.entries(fields.properties).filter(([key]) => key !== name)
    return { ...fields, properties: Object.fromEntries(rest) }
  }
  const value = propertyValue(name, operation.value)
  return { ...fields, properties: { ...fields.properties, [name]: value } }
}

function removeAttribute(fields: ImageFields, name: string): ImageFields {
  if (name === 'tags') return { ...fields, tags: [] }
  throw new Failure('forbidden', `Property ${name} may not be removed.`)
}

type Assign = (value: unknown) => Partial<ImageFields>

const ATTRIBUTES: Readonly<Record<string, Assign>> = {
  name: (value) => ({ name: value === null ? null : text('name', value) }),
  owner: (value) => ({ owner: text('owner', value) }),
  disk_format: (value) => ({ diskFormat: text('disk_format', value) }),
  container_format: (value) => ({ containerFormat: text('container_format', value) }),
  min_disk: (value) => ({ minDiskGb: count('min_disk', value) }),
  min_ram: (value) => ({ minRamMb: count('min_ram', value) }),
  protected: (value) => ({ isProtected: truth('protected', value) }),
  os_hidden: (value) => ({ isHidden: truth('os_hidden', value) }),
  visibility: (value) => ({ visibility: visibilityOf(value) }),
  tags: (value) => ({ tags: tagsOf(value) }),
}

const TEXT_MAX = 255
const COUNT_MAX = 2 ** 31 - 1

function text(name: string, value: unknown): string {
  if (typeof value === 'string' && value.length <= TEXT_MAX) return value
  throw new Failure('invalid', `${name} must be a string of at most ${TEXT_MAX} characters.`)
}

function count(name: string, value: unknown): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= COUNT_MAX)
    return value
  throw new Failure('invalid', `${name} must be an integer from 0 to ${COUNT_MAX}.`)
}

function truth(name: string, value: unknown): boolean {
  if (typeof value === 'boolean') return value
  throw new Failure('invalid', `${name} must be true or false.`)
}

function visibilityOf(value: unknown): ImageFields['visibility'] {
  const hit = IMAGE_VISIBILITIES.find((visibility) => visibility === value)
  if (hit !== undefined) return hit
  throw new Failure('invalid', `visibility must be one of ${IMAGE_VISIBILITIES.join(', ')}.`)
}

function tagsOf(value: unknown): readonly string[] {
  if (!Array.isArray(value)) throw new Failure('invalid', 'tags must be a list of strings.')
  return [...new Set(value.map((tag) => text('tags', tag)))].sort()
}
