import { RESOURCE_CLASSES } from '#common/resource-classes.ts'
import type { operations } from '#openapi/placement.gen.ts'
import { resourceClass } from '../../app/placement/resource-classes.ts'
import type { Handler } from '../../http/operation.ts'
import { freshness } from '../../views/placement/freshness.ts'

/** GET /resource_classes */
export const listResourceClasses: Handler<operations['listResourceClasses']> = async () => {
  return {
    body: { resource_classes: RESOURCE_CLASSES.map(resourceClassView) },
    headers: freshness(Date.now()),
  }
}

/** GET /resource_classes/{name} */
export const showResourceClass: Handler<operations['showResourceClass']> = async ({ params }) => {
  return { body: resourceClassView(resourceClass(params.name)), headers: freshness(Date.now()) }
}

function resourceClassView(name: string) {
  return { name, links: [{ rel: 'self', href: `/placement/resource_classes/${name}` }] }
}
