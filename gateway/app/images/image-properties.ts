import { Failure } from '#common/errors.ts'
import { isReserved, READ_ONLY_ATTRIBUTES } from './image-fields.ts'

/** Attributes a user sets that are not custom properties. */
export const WRITABLE_ATTRIBUTES: ReadonlySet<string> = new Set([
  'name',
  'visibility',
  'owner',
  'disk_format',
  'container_format',
  'min_disk',
  'min_ram',
  'protected',
  'os_hidden',
  'tags',
])

/** The custom properties of a create body. Throws `forbidden` for names that are the service's, as Glance does. */
export function propertiesOf(draft: Readonly<Record<string, unknown>>): Record<string, string> {
  const custom = Object.entries(draft).filter(
    ([name]) => name !== 'id' && !WRITABLE_ATTRIBUTES.has(name),
  )
  return Object.fromEntries(custom.map(([name, value]) => [name, propertyValue(name, value)]))
}

/** The value of one custom property. */
export function propertyValue(name: string, value: unknown): string {
  if (READ_ONLY_ATTRIBUTES.has(name))
    throw new Failure('forbidden', `Attribute '${name}' is read-only.`)
  if (isReserved(name)) throw new Failure('forbidden', `Attribute '${name}' is reserved.`)
  if (typeof value !== 'string')
    throw new Failure('invalid', `Image property '${name}' must be a string.`)
  return value
}
