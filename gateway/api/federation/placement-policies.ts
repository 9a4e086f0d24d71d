import type { components, operations } from '#openapi/federation.gen.ts'
import { idempotencyKey } from '../../app/idempotency-key.ts'
import {
  changePolicy,
  createPolicy,
  deletePolicy,
  findPolicy,
  listPolicies,
  type PolicyChange,
} from '../../app/placement-policies/placement-policies.ts'
import { requireMatch } from '../../http/entity-tag.ts'
import type { Handler } from '../../http/operation.ts'
import { placementPolicyTag, placementPolicyView } from '../../views/federation/placement-policy.ts'

type Body = operations['updatePlacementPolicy']['requestBody']['content']['application/json']
type Limits = components['schemas']['CellLimits']
type Spread = components['schemas']['Spread']

/** GET /v1/placement-policies */
export const listPlacementPolicies: Handler<operations['listPlacementPolicies']> = async ({
  app,
}) => {
  const policies = await listPolicies(app.compute)
  return { body: { placement_policies: policies.map(placementPolicyView) } }
}

/** POST /v1/placement-policies */
export const createPlacementPolicy: Handler<operations['createPlacementPolicy']> = async (call) => {
  const { app, context, body, raw } = call
  const key = idempotencyKey(context, raw.header('idempotency-key'), body)
  const change = { ...changeOf(body), name: body.name }
  const id = await createPolicy(app.compute, context, change, key)
  await app.sharedSettings.changed()
  return { body: placementPolicyView(await findPolicy(app.db, id)) }
}

/** GET /v1/placement-policies/{placement_policy} */
export const showPlacementPolicy: Handler<operations['showPlacementPolicy']> = async (call) => {
  const { app, params } = call
  const policy = await findPolicy(app.db, params.placement_policy)
  return { body: placementPolicyView(policy), headers: { ETag: placementPolicyTag(policy) } }
}

/** PATCH /v1/placement-policies/{placement_policy} */
export const updatePlacementPolicy: Handler<operations['updatePlacementPolicy']> = async (call) => {
  const { app, context, params, body, raw } = call
  const found = await findPolicy(app.db, params.placement_policy)
  requireMatch(raw.header('if-match'), placementPolicyTag(found))
  await changePolicy(app.compute, context, found, changeOf(body))
  await app.sharedSettings.changed()
  const policy = await findPolicy(app.db, found.id)
  return { body: placementPolicyView(policy), headers: { ETag: placementPolicyTag(policy) } }
}

/** DELETE /v1/placement-policies/{placement_policy} */
export const deletePlacementPolicy: Handler<operations['deletePlacementPolicy']> = async (call) => {
  const { app, params, raw } = call
  const found = await findPolicy(app.db, params.placement_policy)
  requireMatch(raw.header('if-match'), placementPolicyTag(found))
  await deletePolicy(app.compute, found)
  await app.sharedSettings.changed()
  return {}
}

function spreadOf({ over, max_skew: maxSkew = 1, is_required: isRequired = false }: Spread) {
  return { over, maxSkew, isRequired }
}

function limitsOf({ servers = null, vcpus = null, memory_mb: memoryMb = null }: Limits) {
  return { servers, vcpus, memoryMb }
}

function changeOf(body: Body): PolicyChange {
  return {
    name: body.name,
    description: body.description,
    isSelectable: body.is_selectable,
    isDefault: body.is_default,
    projects: body.projects,
    flavors: body.flavors,
    rules: {
      tolerations: body.tolerations?.map(({ key, value = null, effect = null }) => ({
        ...{ key, value, effect },
      })),
      spread: body.spread && spreadOf(body.spread),
      limits: body.limits && limitsOf(body.limits),
      costWeight: body.cost_weight,
      onHostFailure: body.on_host_failure,
      onGuestFailure: body.on_guest_failure,
      usersMayMove: body.users_may_move,
      drainsToOtherCells: body.drains_to_other_cells,
      preference: body.preference?.map(({ cells = [], labels = {} }) => ({ cells, labels })),
    },
  }
}
