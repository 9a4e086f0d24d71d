import type { operations } from '#openapi/compute.gen.ts'
import {
  removeExtraSpec,
  setExtraSpec,
  setExtraSpecs,
  showExtraSpec,
} from '../../app/flavors/extra-specs.ts'
import { grantAccess, projectsOfFlavor, revokeAccess } from '../../app/flavors/flavor-access.ts'
import {
  createFlavor as create,
  describeFlavor,
  showFlavor as readFlavor,
  listFlavors as readFlavors,
  deleteFlavor as remove,
  showFlavor as show,
} from '../../app/flavors/flavors.ts'
import type { Call, Handler } from '../../http/operation.ts'
import { pageLimit } from '../../http/pagination.ts'
import { flavorSummary, flavorView } from '../../views/flavor.ts'
import { flavorAccessView } from '../../views/flavor-access.ts'
import { isSince } from '../../views/since.ts'
import { nextPageLinks } from './page.ts'

type Flavor = Awaited<ReturnType<typeof readFlavors>>[number]
type Listing = Call<operations['listFlavors'] | operations['listFlavorsDetail']>

/** The body of a page of flavors, each shown by `view`. */
async function flavorPage<V>(call: Listing, view: (flavor: Flavor) => V) {
  const { app, context, query } = call
  const limit = pageLimit(query.limit)
  const page = await readFlavors(app.db, context, query, limit)
  const last = page.at(-1)?.id
  const next = nextPageLinks(call, 'flavors_links', { size: page.length, limit, last })
  return { flavors: page.map(view), ...next }
}

const addFlavorAccess: Handler<operations['addFlavorAccess']> = async (call) => {
  const { app, context, params, body } = call
  const { tenant } = body.addTenantAccess
  const refusesPublic = isSince(context, '2.7')
  const asked = { projectId: tenant, refusesPublic }
  const projectIds = await grantAccess(app.db, context, params.flavor_id, asked)
  return { body: flavorAccessView(params.flavor_id, projectIds) }
}

const createFlavor: Handler<operations['createFlavor']> = async (call) => {
  const { app, context, links } = call
  const asked = call.body.flavor
  const flavor = await create(app.db, context, {
    id: asked.id ?? null,
    name: asked.name,
    vcpus: asked.vcpus,
    memoryMb: asked.ram,
    rootGb: asked.disk,
    ephemeralGb: asked['OS-FLV-EXT-DATA:ephemeral'] ?? 0,
    swapMb: asked.swap ?? 0,
    rxtxFactor: asked.rxtx_factor ?? 1,
    isPublic: asked['os-flavor-access:is_public'] ?? true,
    description: asked.description ?? null,
  })
  return { body: { flavor: flavorView(flavor, context, links) } }
}

const createFlavorExtraSpecs: Handler<operations['createFlavorExtraSpecs']> = async (call) => {
  const { app, context, params, body } = call
  const isChecked = isSince(context, '2.86')
  await setExtraSpecs(app.db, context, params.flavor_id, body.extra_specs, isChecked)
  return { body: { extra_specs: body.extra_specs } }
}

const deleteFlavor: Handler<operations['deleteFlavor']> = async ({ app, context, params }) => {
  await remove(app.db, context, params.flavor_id)
  return {}
}

const deleteFlavorExtraSpec: Handler<operations['deleteFlavorExtraSpec']> = async (call) => {
  const { app, context, params } = call
  await removeExtraSpec(app.db, context, params.flavor_id, params.key)
  return {}
}

const listFlavorAccess: Handler<operations['listFlavorAccess']> = async (call) => {
  const { app, context, params } = call
  const projectIds = await projectsOfFlavor(app.db, context, params.flavor_id)
  return { body: flavorAccessView(params.flavor_id, projectIds) }
}

const listFlavorExtraSpecs: Handler<operations['listFlavorExtraSpecs']> = async (call) => {
  const { app, context, params } = call
  const { extraSpecs } = await readFlavor(app.db, context, params.flavor_id)
  return { body: { extra_specs: extraSpecs } }
}

const listFlavors: Handler<operations['listFlavors']> = async (call) => ({
  body: await flavorPage(call, (flavor) => flavorSummary(flavor, call.links)),
})

const listFlavorsDetail: Handler<operations['listFlavorsDetail']> = async (call) => ({
  body: await flavorPage(call, (flavor) => flavorView(flavor, call.context, call.links)),
})

const removeFlavorAccess: Handler<operations['removeFlavorAccess']> = async (call) => {
  const { app, context, params, body } = call
  const { tenant } = body.removeTenantAccess
  const projectIds = await revokeAccess(app.db, context, params.flavor_id, tenant)
  return { body: flavorAccessView(params.flavor_id, projectIds) }
}

const showFlavor: Handler<operations['showFlavor']> = async (call) => {
  const { app, context, params, links } = call
  const flavor = await show(app.db, context, params.flavor_id)
  return { body: { flavor: flavorView(flavor, context, links) } }
}

const showFlavorExtraSpec: Handler<operations['showFlavorExtraSpec']> = async (call) => {
  const { app, context, params } = call
  const value = await showExtraSpec(app.db, context, params.flavor_id, params.key)
  return { body: { [params.key]: value } }
}

const updateFlavor: Handler<operations['updateFlavor']> = async (call) => {
  const { app, context, params, body, links } = call
  const { description } = body.flavor
  const flavor = await describeFlavor(app.db, context, params.flavor_id, description)
  return { body: { flavor: flavorView(flavor, context, links) } }
}

const updateFlavorExtraSpec: Handler<operations['updateFlavorExtraSpec']> = async (call) => {
  const { app, context, params, body } = call
  const isChecked = isSince(context, '2.86')
  await setExtraSpec(app.db, context, params.flavor_id, { key: params.key, specs: body, isChecked })
  return { body }
}

export const flavorHandlers = {
  addFlavorAccess,
  createFlavor,
  createFlavorExtraSpecs,
  deleteFlavor,
  deleteFlavorExtraSpec,
  listFlavorAccess,
  listFlavorExtraSpecs,
  listFlavors,
  listFlavorsDetail,
  removeFlavorAccess,
  showFlavor,
  showFlavorExtraSpec,
  updateFlavor,
  updateFlavorExtraSpec,
}
