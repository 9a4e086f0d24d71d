import { Failure } from '#common/errors.ts'
import { newId } from '#common/ids.ts'
import type { Image } from '../../../db/image.ts'
import { type ImportRequest, insertTask } from '../../../db/image-tasks.ts'
import { beginImport } from '../../../db/image-uploads.ts'
import type { RequestContext } from '../../request-context.ts'
import type { Images } from '../images.ts'
import { ownImage } from '../visible-image.ts'
import { checkImportUrl } from './import-url.ts'

/** The supported import methods; other methods of Glance are unknown here. */
export const IMPORT_METHODS = ['glance-direct', 'web-download'] as const
/** The one place contents are kept in, as clients name it. */
export const STORE = 'local'

/** The body of an import request. */
export interface ImportDraft {
  readonly method: { readonly name: string; readonly uri?: string }
  readonly stores?: readonly string[]
}

/**
 * Afterwards the image is `importing`, with a task after which it is active or queued again. Throws `invalid` for an
 * unknown method or a forbidden address, `conflict` for an image in another state.
 */
export async function startImport(
  images: Images,
  context: RequestContext,
  id: string,
  draft: ImportDraft,
): Promise<void> {
  const method = methodOf(draft)
  const image = await ownImage(images, context, id, 'import into')
  refuseUnready(image, method.name)
  if (method.uri !== undefined) checkImportUrl(method.uri, images.importRules)
  const unknown = draft.stores?.find((store) => store !== STORE)
  if (unknown !== undefined) throw new Failure('conflict', `Unknown scheme '${unknown}' found.`)
  const { userId, requestId } = context
  const task = {
    id: newId<string>(),
    imageId: id,
    owner: image.owner,
    userId,
    requestId,
    request: { method },
  }
  const from = method.name === 'glance-direct' ? 'uploading' : 'queued'
  const now = new Date(images.clock.now())
  await images.db.transaction(async (tx) => {
    if (!(await beginImport(tx, { imageId: id, uploadId: task.id, from }, now)))
      throw new Failure(
        'conflict',
        `New operation on image '${id}' is not permitted as prior operation is still in progress`,
      )
    await insertTask(tx, task, now)
  })
  images.importsDue()
}

function methodOf({ method }: ImportDraft): ImportRequest['method'] {
  const name = IMPORT_METHODS.find((known) => known === method.name)
  if (name === undefined)
    throw new Failure('invalid', `Unknown import method name '${method.name}'.`)
  if (name === 'glance-direct') return { name }
  if (method.uri === undefined)
    throw new Failure('invalid', "'uri' needs to be set for the web-download import method.")
  return { name, uri: method.uri }
}

function refuseUnready(image: Image, method: ImportRequest['method']['name']): void {
  const why = unreadiness(image, method)
  if (why !== undefined) throw new Failure('conflict', why)
}

/** Glance's sentences (glance/api/v2/images.py, import_image). */
function unreadiness(image: Image, method: ImportRequest['method']['name']): string | undefined {
  if (image.status === 'active') return 'Image with status active cannot be target for import'
  if (method === 'web-download' && image.status !== 'queued')
    return "Image needs to be in 'queued' state to use 'web-download' method"
  if (method === 'glance-direct' && image.status !== 'uploading')
    return "Image needs to be staged before 'glance-direct' method can be used"
  if (image.containerFormat === null) return "'container_format' needs to be set before import"
  if (image.diskFormat === null) return "'disk_format' needs to be set before import"
  return undefined
}
