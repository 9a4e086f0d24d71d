import type { operations } from '#openapi/network.gen.ts'
import {
  createRbacPolicy,
  deleteRbacPolicy,
  listRbacPolicies,
  ownRbacPolicy,
  retargetRbacPolicy,
} from '../../app/networks/rbac-policies.ts'
import type { RbacPolicy } from '../../db/rbac-policies.ts'
import type { Answer, Call } from '../../http/operation.ts'
import { queryPairs } from '../../http/query-pairs.ts'
import { pageBody } from './page-body.ts'
import { pick } from './request.ts'

type List = operations['listRbacPolicies']
type Create = operations['createRbacPolicy']
type Show = operations['showRbacPolicy']
type Update = operations['updateRbacPolicy']
type Delete = operations['deleteRbacPolicy']

async function list(call: Call<List>): Promise<Answer<List>> {
  const { app, context, raw } = call
  const page = await listRbacPolicies(app.networks, context, queryPairs(raw.search))
  return { body: pageBody(call, 'rbac_policies', page, rbacPolicyView) }
}

async function create({ app, context, body }: Call<Create>): Promise<Answer<Create>> {
  const { object_id, target_tenant, project_id, tenant_id } = body.rbac_policy
  const made = await createRbacPolicy(app.networks, context, {
    object_id,
    target_project: target_tenant,
    project_id: project_id ?? tenant_id,
  })
  return { body: { rbac_policy: rbacPolicyView(made) } }
}

async function show({ app, context, params, query }: Call<Show>): Promise<Answer<Show>> {
  const found = await ownRbacPolicy(app.networks, context, params.rbac_policy_id)
  return { body: { rbac_policy: pick(rbacPolicyView(found), query.fields) } }
}

async function update({ app, context, params, body }: Call<Update>): Promise<Answer<Update>> {
  const { target_tenant } = body.rbac_policy
  const id = params.rbac_policy_id
  const changed = await retargetRbacPolicy(app.networks, context, id, target_tenant)
  return { body: { rbac_policy: rbacPolicyView(changed) } }
}

async function remove({ app, context, params }: Call<Delete>): Promise<Answer<Delete>> {
  await deleteRbacPolicy(app.networks, context, params.rbac_policy_id)
  return {}
}

/** What openapi/network/rbac-policies.yaml describes. */
export const rbacPolicyHandlers = {
  listRbacPolicies: list,
  createRbacPolicy: create,
  showRbacPolicy: show,
  updateRbacPolicy: update,
  deleteRbacPolicy: remove,
}

/** Only networks are shared by policies here, and in one way. */
function rbacPolicyView({ id, projectId, networkId, target }: RbacPolicy) {
  return {
    id,
    project_id: projectId,
    tenant_id: projectId,
    object_id: networkId,
    object_type: 'network' as const,
    action: 'access_as_shared' as const,
    target_tenant: target,
    target_project: target,
  }
}
