import type { operations } from '#openapi/compute.gen.ts'
import type { Handler } from '../../../http/operation.ts'
import { proxiedImageView } from '../../../views/proxied-image.ts'
import { imagePage } from './image-page.ts'

export const listImagesDetail: Handler<operations['listImagesDetail']> = async (call) => {
  return { body: await imagePage(call, (image) => proxiedImageView(image, call.links)) }
}
