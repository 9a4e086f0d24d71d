import type { operations } from '#openapi/placement.gen.ts'
import { RESOURCE_CLASSES } from '../../../app/placement/resource-classes.ts'
import type { Handler } from '../../../http/operation.ts'
import { freshness } from '../../../views/placement/freshness.ts'
import { resourceClassView } from '../../../views/placement/resource-class.ts'

/** GET /resource_classes */
export const listResourceClasses: Handler<operations['listResourceClasses']> = async () => {
  return {
    body: { resource_classes: RESOURCE_CLASSES.map(resourceClassView) },
    headers: freshness(Date.now()),
  }
}
