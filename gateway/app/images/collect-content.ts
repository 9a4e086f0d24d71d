import {
  countContent,
  discountContent,
  dropUnusedContent,
  knownContents,
  unusedContents,
} from '../../db/image-contents.ts'
import { abandonDeadUploads } from '../../db/image-uploads.ts'
import type { Images } from './images.ts'

const COLLECTED_MAX = 100
const LOOKUP_BATCH = 100
/** A file without a row is younger than this only while the upload that made it commits. */
const UNKNOWN_AFTER_MS = 3_600_000
/** A live upload writes every minute; only its last look and flush may take longer. */
const ABANDONED_AFTER_MS = 3_600_000

/** Afterwards the bytes are gone if no image has them. The row is held meanwhile, so that no upload falls between. */
export async function collectContent(images: Images, sha256: string): Promise<void> {
  await images.db.transaction(async (tx) => {
    if (await dropUnusedContent(tx, sha256)) await images.store.remove(sha256)
  })
}

export interface CollectionReport {
  readonly uploadsAbandoned: number
  readonly contentsCollected: number
  readonly filesRemoved: number
  /** From a former store to the present one. */
  readonly contentsMoved: number
}

/**
 * Cleans up after killed processes: images of dead uploads are `queued` again, and contents without an image and files
 * without a content are removed. Idempotent; does a bounded amount per run.
 */
export async function collectImages(
  images: Images,
  signal: AbortSignal,
): Promise<CollectionReport> {
  const now = images.clock.now()
  const uploadsAbandoned = await abandonDeadUploads(images.db, new Date(now))
  const unused = await unusedContents(images.db, COLLECTED_MAX)
  for (const sha256 of unused) {
    signal.throwIfAborted()
    await collectContent(images, sha256)
  }
  const unknown = await removeUnknownFiles(images, now, signal)
  const abandoned = await images.store.removeAbandoned(new Date(now - ABANDONED_AFTER_MS))
  const contentsMoved = (await images.store.settle?.(new Date(now), signal)) ?? 0
  return {
    uploadsAbandoned,
    contentsCollected: unused.length,
    filesRemoved: unknown + abandoned,
    contentsMoved,
  }
}

async function removeUnknownFiles(
  images: Images,
  nowMs: number,
  signal: AbortSignal,
): Promise<number> {
  let removed = 0
  let batch: string[] = []
  for await (const sha256 of images.store.stored(new Date(nowMs - UNKNOWN_AFTER_MS))) {
    signal.throwIfAborted()
    batch.push(sha256)
    if (batch.length < LOOKUP_BATCH) continue
    removed += await removeUnknown(images, batch)
    batch = []
  }
  return removed + (await removeUnknown(images, batch))
}

async function removeUnknown(images: Images, batch: readonly string[]): Promise<number> {
  const known = await knownContents(images.db, batch)
  const unknown = batch.filter((sha256) => !known.has(sha256))
  for (const sha256 of unknown) await removeUnlessCounted(images, sha256)
  return unknown.length
}

/**
 * Afterwards the bytes are gone if no image has them, though they have no row. Counted and discounted in one transaction:
 * holding the row keeps an upload of the same bytes waiting.
 */
export async function removeUnlessCounted(images: Images, sha256: string): Promise<void> {
  await images.db.transaction(async (tx) => {
    await countContent(tx, sha256)
    discountContent(tx, sha256)
    if (await dropUnusedContent(tx, sha256)) await images.store.remove(sha256)
  })
}
