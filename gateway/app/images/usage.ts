import { type ImageUsage, imageUsage } from '../../db/image-usage.ts'
import type { Requester } from '../requester.ts'
import type { ImageLimits } from './image-quota.ts'
import type { Images } from './images.ts'

export interface ImageUsageOfProject {
  readonly usage: ImageUsage
  readonly limits: ImageLimits
}

/** What the requester's project has, and may have; nothing for one without a project. */
export async function usageOfProject(
  images: Images,
  { projectId }: Requester,
): Promise<ImageUsageOfProject | undefined> {
  if (projectId === null) return undefined
  return { usage: await imageUsage(images.db, projectId), limits: images.limits }
}
