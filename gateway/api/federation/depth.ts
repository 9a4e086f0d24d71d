import type { operations } from '#openapi/federation.gen.ts'
import { depthBelow } from '../../app/federation/depth.ts'
import type { Handler } from '../../http/operation.ts'
import { hopsOf } from '../../http/refuse-ring.ts'

/** GET /v1/depth */
export const showDepth: Handler<operations['showDepth']> = async ({ app, context, raw }) => {
  const { depth, isWhole } = await depthBelow(app.compute, context, hopsOf(raw.header))
  return { body: { depth, is_whole: isWhole } }
}
