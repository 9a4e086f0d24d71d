import { errorChain, Failure } from '#common/errors.ts'
import type { Image } from '../../../db/image.ts'
import { discountContent } from '../../../db/image-contents.ts'
import {
  endTask,
  findTask,
  type ImageTask,
  renewTask,
  returnTask,
} from '../../../db/image-tasks.ts'
import { abandonUpload, finishUpload } from '../../../db/image-uploads.ts'
import { findImage } from '../../../db/images.ts'
import { collectContent } from '../collect-content.ts'
import { inspectInWorker } from '../formats/inspect-in-worker.ts'
import type { Images } from '../images.ts'
import { receiveContent } from '../receive-content.ts'
import { keepContent, lost, wantedFormat } from '../upload-content.ts'
import { download } from './web-download.ts'

/** Longer than a sender may be silent. */
export const IMPORT_LEASE_MS = 120_000
/** Those that failed. One that ended its process is made in an isolated process again, as often as others end that. */
const TRIES_MAX = 3
const INTERRUPTED = 'The import was interrupted too often.'
/** Glance's `task_time_to_live`: 48 hours after its end a task is forgotten. */
const KEPT_MS = 172_800_000

/**
 * Afterwards the task has succeeded and its image is active, or it has failed and the image is `queued` again without
 * content. Throws failures that are no fault of the content: the task is then taken up again.
 */
export async function runImport(
  images: Images,
  task: ImageTask,
  signal: AbortSignal,
): Promise<void> {
  if (task.tries > TRIES_MAX) {
    await failImport(images, task, INTERRUPTED)
    return
  }
  try {
    await importContent(images, task, signal)
  } catch (error) {
    signal.throwIfAborted()
    const reason = finalReason(error)
    if (reason === undefined && task.tries < TRIES_MAX) throw error
    await failImport(images, task, reason ?? INTERRUPTED)
    return
  }
  await end(images, task, 'success', '')
}

/**
 * `runImport` of a task by its id, in an isolated process; one that is gone is left. What fails here for no fault of the content
 * has not ended its process: it is tried as any other from then on. Returns that failure, or null.
 */
export async function importIsolated(
  images: Images,
  id: string,
  signal: AbortSignal,
): Promise<string | null> {
  const { db, clock } = images
  const task = await findTask(db, id)
  if (task === undefined) return null
  try {
    await runImport(images, task, signal)
  } catch (error) {
    signal.throwIfAborted()
    await returnTask(db, id, { isSuspect: false, isTried: true, now: new Date(clock.now()) })
    return errorChain(error)
  }
  return null
}

/** What to tell of a failure that would be the same the next time. */
function finalReason(error: unknown): string | undefined {
  if (!(error instanceof Failure)) return undefined
  return error.kind === 'unavailable' || error.kind === 'internal' ? undefined : error.message
}

async function importContent(images: Images, task: ImageTask, signal: AbortSignal): Promise<void> {
  const image = await findImage(images.db, task.imageId)
  if (image === undefined) throw lost({ imageId: task.imageId, uploadId: task.id })
  // A process that ended between the image's success and the task's.
  if (image.status === 'active') return
  const { uri } = task.request.method
  if (uri === undefined) await importStaged(images, task, image)
  else await importRemote(images, task, image, uri, signal)
}

async function importStaged(images: Images, task: ImageTask, image: Image): Promise<void> {
  const upload = { imageId: image.id, uploadId: task.id }
  const { staged } = image
  if (staged === null) throw lost(upload)
  const sample = await images.store.sample(staged.sha256)
  const virtualSizeBytes = await inspectInWorker(wantedFormat(images, image), sample)
  const content = { ...staged, virtualSizeBytes }
  const now = new Date(images.clock.now())
  await images.db.transaction(async (tx) => {
    if (!(await finishUpload(tx, { ...upload, to: 'active' }, content, now))) throw lost(upload)
  })
}

async function importRemote(
  images: Images,
  task: ImageTask,
  image: Image,
  uri: string,
  signal: AbortSignal,
): Promise<void> {
  const { importRules, clock, db, sizeMaxBytes } = images
  const upload = { imageId: image.id, uploadId: task.id, owner: image.owner, to: 'active' } as const
  const limit = AbortSignal.any([signal, AbortSignal.timeout(importRules.timeoutMs)])
  await using remote = await download(uri, importRules, limit)
  await using incoming = await images.store.receive()
  const content = await receiveContent(incoming, {
    body: remote.body,
    declaredBytes: remote.declaredBytes,
    sizeMaxBytes,
    bytesPerSecondMin: importRules.bytesPerSecondMin,
    format: wantedFormat(images, image),
    clock,
    renew: async () => {
      const lease = new Date(clock.now() + IMPORT_LEASE_MS)
      if (!(await renewTask(db, task.id, lease))) throw lost(upload)
    },
  })
  await keepContent(images, upload, incoming, content)
}

/** Afterwards the image is queued again with this message, and its staged content is dropped. */
export async function failImport(images: Images, task: ImageTask, message: string): Promise<void> {
  const upload = { imageId: task.imageId, uploadId: task.id }
  const staged = (await findImage(images.db, task.imageId))?.staged ?? null
  const isDropped = await images.db.transaction(async (tx) => {
    if (!(await abandonUpload(tx, upload, new Date(images.clock.now())))) return false
    if (staged !== null) discountContent(tx, staged.sha256)
    return true
  })
  if (isDropped && staged !== null) await collectContent(images, staged.sha256)
  await end(images, task, 'failure', message)
}

async function end(
  { db, clock }: Images,
  { id }: ImageTask,
  status: 'success' | 'failure',
  message: string,
): Promise<void> {
  const now = clock.now()
  const expiresAt = new Date(now + KEPT_MS)
  await endTask(db, { id, status, message, now: new Date(now), expiresAt })
}
