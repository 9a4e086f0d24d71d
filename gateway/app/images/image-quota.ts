import type { Tx } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import { holdProject, imageUsage } from '../../db/image-usage.ts'

/** The limits of one project's images. */
export interface ImageLimits {
  readonly images: number
  readonly bytes: number
}

/**
 * Throws `over-quota` when the image that the transaction has just added is one too many for the project. No other request
 * adds an image to the project until the transaction ends, which should be soon: what else it does comes before.
 */
export async function chargeImage(tx: Tx, projectId: string, limits: ImageLimits): Promise<void> {
  await holdProject(tx, projectId)
  const { images } = await imageUsage(tx, projectId)
  refuseOver('image_count_total', projectId, { limit: limits.images, used: images - 1, delta: 1 })
}

/** The same for the bytes of a content, staged ones included. */
export async function chargeBytes(
  tx: Tx,
  projectId: string,
  limits: ImageLimits,
  delta: number,
): Promise<void> {
  await holdProject(tx, projectId)
  const { bytes, stagedBytes } = await imageUsage(tx, projectId)
  const used = bytes + stagedBytes
  refuseOver('image_size_total', projectId, { limit: limits.bytes, used, delta })
}

function refuseOver(
  resource: string,
  projectId: string,
  asked: { readonly limit: number; readonly used: number; readonly delta: number },
): void {
  const { limit, used, delta } = asked
  if (used + delta <= limit) return
  // The sentence is oslo.limit's, which Glance passes on.
  throw new Failure(
    'over-quota',
    `Project ${projectId} is over a limit for [Resource ${resource} is over limit of ${limit} ` +
      `due to current usage ${used} and delta ${delta}]. Delete images, or ask for a higher limit.`,
  )
}
