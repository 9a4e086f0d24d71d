import type { operations } from '#openapi/placement.gen.ts'
import { checkTrait as check, listTraits as list } from '../../app/placement/traits.ts'
import type { Handler } from '../../http/operation.ts'
import { freshness } from '../../views/placement/freshness.ts'

/** GET /traits/{name} */
export const checkTrait: Handler<operations['checkTrait']> = async ({ app, params }) => {
  await check(app.db, params.name)
  return { headers: freshness(Date.now()) }
}

/** GET /traits */
export const listTraits: Handler<operations['listTraits']> = async ({ app, query }) => {
  return { body: { traits: await list(app.db, query) }, headers: freshness(Date.now()) }
}
