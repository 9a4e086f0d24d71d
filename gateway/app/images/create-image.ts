import { isDuplicate } from '#common/db/failures.ts'
import { Failure } from '#common/errors.ts'
import { isUuid, newId } from '#common/ids.ts'
import type { ImageVisibility } from '#common/states/image-states.ts'
import type { Image, ImageFields } from '../../db/image.ts'
import { findImage, insertImage } from '../../db/images.ts'
import type { Requester } from '../requester.ts'
import { checkFields } from './image-fields.ts'
import { propertiesOf } from './image-properties.ts'
import { chargeImage } from './image-quota.ts'
import type { Images } from './images.ts'

/** A create body: Glance's attributes by their names, and custom properties beside them. */
export interface ImageDraft {
  readonly id?: string
  readonly name?: string | null
  readonly visibility?: ImageVisibility
  readonly owner?: string | null
  readonly disk_format?: string | null
  readonly container_format?: string | null
  readonly min_disk?: number
  readonly min_ram?: number
  readonly protected?: boolean
  readonly os_hidden?: boolean
  readonly tags?: readonly string[]
  readonly [property: string]: unknown
}

/** Afterwards the image exists and waits for its content. Throws `conflict` when its id is taken, `over-quota`. */
export async function createImage(
  images: Images,
  requester: Requester,
  draft: ImageDraft,
): Promise<Image> {
  if (draft.id !== undefined && !isUuid(draft.id))
    throw new Failure('invalid', `Invalid image id: ${draft.id} is not a UUID.`)
  const id = draft.id ?? newId<string>()
  const fields = fieldsOf(draft, requester)
  checkFields(fields, requester)
  const now = new Date(images.clock.now())
  try {
    await images.db.transaction(async (tx) => {
      await insertImage(tx, { id, fields, now })
      await chargeImage(tx, fields.owner, images.limits)
    })
  } catch (error) {
    if (isDuplicate(error))
      throw new Failure('conflict', `Image ID ${id} already exists!`, { cause: error })
    throw error
  }
  const created = await findImage(images.db, id)
  if (created === undefined) throw new Failure('conflict', `Image ${id} was deleted meanwhile.`)
  return created
}

function fieldsOf(draft: ImageDraft, requester: Requester): ImageFields {
  const owner = draft.owner ?? requester.projectId
  if (owner === null)
    throw new Failure(
      'forbidden',
      'To create an image, use a token that is scoped to a project, or set the owner.',
    )
  return {
    name: draft.name ?? null,
    visibility: draft.visibility ?? 'shared',
    owner,
    diskFormat: draft.disk_format ?? null,
    containerFormat: draft.container_format ?? null,
    minDiskGb: draft.min_disk ?? 0,
    minRamMb: draft.min_ram ?? 0,
    isProtected: draft.protected ?? false,
    isHidden: draft.os_hidden ?? false,
    tags: [...new Set(draft.tags ?? [])].sort(),
    properties: propertiesOf(draft),
  }
}
