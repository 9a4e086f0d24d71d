import type { operations } from '#openapi/placement.gen.ts'
import { listTraits as list } from '../../../app/placement/traits.ts'
import type { Handler } from '../../../http/operation.ts'
import { freshness } from '../../../views/placement/freshness.ts'

/** GET /traits */
export const listTraits: Handler<operations['listTraits']> = async ({ app, query }) => {
  return { body: { traits: await list(app.db, query) }, headers: freshness(Date.now()) }
}
