import type { operations } from '#openapi/identity.gen.ts'
import {
  allPolicies,
  changePolicy,
  createPolicy,
  onePolicy,
  removePolicy,
} from '../../app/identity/policies.ts'
import type { StoredPolicy } from '../../db/identity/policies.ts'
import type { Links } from '../../http/links.ts'
import type { Answer, Call } from '../../http/operation.ts'
import { listBody } from './list-body.ts'
import { listQuery } from './list-query.ts'

type List = operations['listPolicies']
type Create = operations['createPolicy']
type Show = operations['showPolicy']
type Update = operations['updatePolicy']
type Delete = operations['deletePolicy']

async function list(call: Call<List>): Promise<Answer<List>> {
  const { app, query, links } = call
  const { limit, marker } = query
  // Policies have no names, and are looked for by their types in the same ways.
  const byType = Object.entries(query).map(([key, value]) => [key.replace(/^type/, 'name'), value])
  const { names } = listQuery(Object.fromEntries(byType) as Parameters<typeof listQuery>[0])
  const found = await allPolicies(app.identity, { ...(names && { names }), limit, marker })
  return { body: listBody(call, 'policies', found, (it) => policyView(it, links)) }
}

async function create({ app, body, links }: Call<Create>): Promise<Answer<Create>> {
  const { type, blob, ...extra } = body.policy
  const made = await createPolicy(app.identity, { type, blob, extra })
  return { body: { policy: policyView(made, links) } }
}

async function show({ app, params, links }: Call<Show>): Promise<Answer<Show>> {
  const found = await onePolicy(app.identity, params.policy_id)
  return { body: { policy: policyView(found, links) } }
}

async function update({ app, params, body, links }: Call<Update>): Promise<Answer<Update>> {
  const { type, blob, ...extra } = body.policy
  const changed = await changePolicy(app.identity, params.policy_id, {
    ...(type !== undefined && { type }),
    ...(blob !== undefined && { blob }),
    extra,
  })
  return { body: { policy: policyView(changed, links) } }
}

async function remove({ app, params }: Call<Delete>): Promise<Answer<Delete>> {
  await removePolicy(app.identity, params.policy_id)
  return {}
}

/** What openapi/identity/policies.yaml describes. */
export const policyHandlers = {
  listPolicies: list,
  createPolicy: create,
  showPolicy: show,
  updatePolicy: update,
  deletePolicy: remove,
}

/** Rules of another service, with what it added. */
function policyView({ id, type, blob, extra }: StoredPolicy, links: Links) {
  return { ...extra, id, type, blob, links: { self: links.to(`/identity/v3/policies/${id}`) } }
}
