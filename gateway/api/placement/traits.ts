import type { operations } from '#openapi/placement.gen.ts'
import {
  checkTrait as check,
  createTrait as create,
  listTraits as list,
  deleteTrait as remove,
} from '../../app/placement/traits.ts'
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

/** PUT /traits/{name} */
export const createTrait: Handler<operations['createTrait']> = async ({ app, params, links }) => {
  const status = (await create(app.db, params.name)) ? 201 : 204
  const Location = links.to(`/placement/traits/${params.name}`)
  return { status, headers: { Location, ...freshness(Date.now()) } }
}

/** DELETE /traits/{name} */
export const deleteTrait: Handler<operations['deleteTrait']> = async ({ app, params }) => {
  await remove(app.db, params.name)
  return {}
}
