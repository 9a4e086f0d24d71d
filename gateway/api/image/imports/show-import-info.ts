import type { operations } from '#openapi/image.gen.ts'
import type { Handler } from '../../../http/operation.ts'
import { importInfoView } from '../../../views/image/info.ts'

/** GET /v2/info/import */
export const showImportInfo: Handler<operations['showImportInfo']> = async () => {
  return { body: importInfoView() }
}
