import type { operations } from '#openapi/compute.gen.ts'
import { deleteFlavor as remove } from '../../../app/flavors/delete-flavor.ts'
import type { Handler } from '../../../http/operation.ts'

export const deleteFlavor: Handler<operations['deleteFlavor']> = async ({ app, params }) => {
  await remove(app.db, params.flavor_id)
  return {}
}
