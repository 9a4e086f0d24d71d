import type { operations } from '#openapi/image.gen.ts'
import type { Handler } from '../../../http/operation.ts'
import { storesView } from '../../../views/image/info.ts'

/** GET /v2/info/stores */
export const showStoresInfo: Handler<operations['showStoresInfo']> = async () => {
  return { body: storesView() }
}
