import type { operations } from '#openapi/compute.gen.ts'
import type { Handler } from '../../../http/operation.ts'
import { proxiedImageSummary } from '../../../views/proxied-image.ts'
import { imagePage } from './image-page.ts'

export const listImages: Handler<operations['listImages']> = async (call) => {
  return { body: await imagePage(call, (image) => proxiedImageSummary(image, call.links)) }
}
