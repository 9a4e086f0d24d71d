import type { operations } from '#openapi/placement.gen.ts'
import { resourceClass } from '../../../app/placement/resource-classes.ts'
import type { Handler } from '../../../http/operation.ts'
import { freshness } from '../../../views/placement/freshness.ts'
import { resourceClassView } from '../../../views/placement/resource-class.ts'

/** GET /resource_classes/{name} */
export const showResourceClass: Handler<operations['showResourceClass']> = async ({ params }) => {
  return { body: resourceClassView(resourceClass(params.name)), headers: freshness(Date.now()) }
}
