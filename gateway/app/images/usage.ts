import { type ImageUsage, imageUsage } from '../../db/image-usage.ts'
import type { Requester } from '../requester.ts'
import type { ImageLimits } from './image-quota.ts'
import type { Images } from './images.ts'

export interface ImageUsageOfProject {
  readonly usage: ImageUsage
  readonly limits: ImageLimits
}

/** The usage and limits of the requester's project; none for a requester without a project. */
export async function usageOfProject(
  images: Images,
  { projectId }: Requester,
): Promise<ImageUsageOfProject | undefined> {
  if (projectId === null) return undefined
  return { usage: await imageUsage(images.db, projectId), limits: images.limits }
}
