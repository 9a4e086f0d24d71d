import type { operations } from '#openapi/network.gen.ts'
import type { Handler } from '../../../http/operation.ts'
import { EXTENSIONS } from '../../../views/network/extensions.ts'

/** GET /v2.0/extensions */
export const listExtensions: Handler<operations['listExtensions']> = async () => {
  return { body: { extensions: EXTENSIONS } }
}
