import type { operations } from '#openapi/network.gen.ts'
import type { Handler } from '../../../http/operation.ts'
import { extensionNamed } from '../../../views/network/extensions.ts'

/** GET /v2.0/extensions/{alias} */
export const showExtension: Handler<operations['showExtension']> = async (call) => {
  return { body: { extension: extensionNamed(call.params.alias) } }
}
