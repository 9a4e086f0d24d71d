import type { operations } from '#openapi/compute.gen.ts'
import type { Handler } from '../../../http/operation.ts'
import { extensionViews } from '../../../views/extensions.ts'

export const listExtensions: Handler<operations['listExtensions']> = async () => {
  return { body: { extensions: extensionViews } }
}
