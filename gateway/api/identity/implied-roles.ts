import type { Inference as InferenceBody, InferredRole, operations } from '#openapi/identity.gen.ts'
import type { Role } from '../../app/identity/model.ts'
import {
  allInferences,
  endImplication,
  type Inference,
  implyRole,
  inferenceOf,
  oneInference,
} from '../../app/identity/roles.ts'
import type { Links } from '../../http/links.ts'
import type { Answer, Call } from '../../http/operation.ts'

/** PUT /v3/roles/{role_id}/implies/{implied_role_id} */
export async function addImpliedRole(
  call: Call<operations['addImpliedRole']>,
): Promise<Answer<operations['addImpliedRole']>> {
  const { app, params, links, raw } = call
  const { role_id, implied_role_id } = params
  const found = await implyRole(app.identity, role_id, implied_role_id)
  return {
    body: {
      role_inference: {
        prior_role: inferredRole(found.prior, links),
        implies: inferredRole(found.implied, links),
      },
      links: { self: links.to(raw.path) },
    },
  }
}

/** GET /v3/roles/{role_id}/implies */
export async function listImpliedRoles(
  call: Call<operations['listImpliedRoles']>,
): Promise<Answer<operations['listImpliedRoles']>> {
  const { app, context, params, links, raw } = call
  const found = await inferenceOf(app.identity, context, params.role_id)
  return {
    body: { role_inference: inferenceView(found, links), links: { self: links.to(raw.path) } },
  }
}

/** GET /v3/role_inferences */
export async function listRoleInferences({
  app,
  links,
  raw,
}: Call<operations['listRoleInferences']>): Promise<Answer<operations['listRoleInferences']>> {
  const found = await allInferences(app.identity)
  return {
    body: {
      role_inferences: found.map((it) => inferenceView(it, links)),
      links: { self: links.to(raw.path) },
    },
  }
}

/** DELETE /v3/roles/{role_id}/implies/{implied_role_id} */
export async function removeImpliedRole({
  app,
  params,
}: Call<operations['removeImpliedRole']>): Promise<Answer<operations['removeImpliedRole']>> {
  await endImplication(app.identity, params.role_id, params.implied_role_id)
  return {}
}

/** GET /v3/roles/{role_id}/implies/{implied_role_id} */
export async function showImpliedRole(
  call: Call<operations['showImpliedRole']>,
): Promise<Answer<operations['showImpliedRole']>> {
  const { app, context, params, links, raw } = call
  const { role_id, implied_role_id } = params
  const found = await oneInference(app.identity, context, role_id, implied_role_id)
  return {
    body: {
      role_inference: {
        prior_role: inferredRole(found.prior, links),
        implies: inferredRole(found.implied, links),
      },
      links: { self: links.to(raw.path) },
    },
  }
}

function inferenceView({ prior, implies }: Inference, links: Links): InferenceBody {
  return {
    prior_role: inferredRole(prior, links),
    implies: implies.map((role) => inferredRole(role, links)),
  }
}

function inferredRole({ id, name, description }: Role, links: Links): InferredRole {
  return { id, name, description, links: { self: links.to(`/identity/v3/roles/${id}`) } }
}
