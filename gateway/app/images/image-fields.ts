import { Failure } from '#common/errors.ts'
import type { ImageVisibility } from '#common/states/image-states.ts'
import type { ImageFields } from '../../db/image.ts'
import type { Requester } from '../requester.ts'

const PROPERTIES_MAX = 128
export const TAGS_MAX = 128
const NAME_MAX = 255

/** Attributes of Glance's that only the service sets. */
export const READ_ONLY_ATTRIBUTES: ReadonlySet<string> = new Set([
  'id',
  'status',
  'size',
  'virtual_size',
  'checksum',
  'os_hash_algo',
  'os_hash_value',
  'created_at',
  'updated_at',
  'self',
  'file',
  'schema',
  'direct_url',
])

/** Names Glance keeps for itself; no custom property may have them. */
const RESERVED_ATTRIBUTES: ReadonlySet<string> = new Set([
  'locations',
  'deleted',
  'deleted_at',
  'is_public',
  'stores',
  'os_glance_importing_to_stores',
  'os_glance_failed_import',
])

/** Glance keeps the whole `os_glance_` name space for itself. */
export function isReserved(attribute: string): boolean {
  return RESERVED_ATTRIBUTES.has(attribute) || attribute.startsWith('os_glance')
}

/** Throws `forbidden` or `invalid` for fields this requester may not give an image. */
export function checkFields(
  fields: ImageFields,
  requester: Requester,
  before?: Pick<ImageFields, 'visibility' | 'owner'>,
): void {
  checkVisibility(fields.visibility, before?.visibility, requester)
  if (!requester.isAdmin && fields.owner !== (before?.owner ?? requester.projectId))
    throw new Failure(
      'forbidden',
      `You are not permitted to create images owned by '${fields.owner}'.`,
    )
  if (Object.keys(fields.properties).length > PROPERTIES_MAX)
    throw new Failure('over-quota', `The limit of ${PROPERTIES_MAX} image properties is exceeded.`)
  if (fields.tags.length > TAGS_MAX)
    throw new Failure('over-quota', `The limit of ${TAGS_MAX} image tags is exceeded.`)
  const long = [...Object.keys(fields.properties), ...fields.tags].find((n) => n.length > NAME_MAX)
  if (long !== undefined)
    throw new Failure('invalid', `'${long.slice(0, 32)}…' is longer than ${NAME_MAX} characters.`)
}

function checkVisibility(
  visibility: ImageVisibility,
  before: ImageVisibility | undefined,
  requester: Requester,
): void {
  if (visibility === 'public' && before !== 'public' && !requester.isAdmin)
    throw new Failure('forbidden', 'You are not permitted to make images public.')
}
