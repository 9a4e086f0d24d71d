import type { Executor } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import { showAggregate } from './find-aggregate.ts'

/**
 * Fetches nothing: hosts take an image when a server first needs it, and Nova passes over hosts that cannot take one
 * before. Throws `invalid` for an image named twice, and `not-found`.
 */
export async function cacheImages(
  db: Executor,
  aggregateId: string,
  imageIds: readonly string[],
): Promise<void> {
  if (new Set(imageIds).size < imageIds.length)
    throw new Failure('invalid', 'Duplicate images in request')
  await showAggregate(db, aggregateId)
}
