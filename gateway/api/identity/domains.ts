import type { operations } from '#openapi/identity.gen.ts'
import {
  allDomains,
  changeDomain,
  createDomain as makeDomain,
  oneDomain,
  removeDomain,
} from '../../app/identity/domains.ts'
import type { Answer, Call } from '../../http/operation.ts'
import { domainView } from '../../views/identity/domain.ts'
import { immutableOf } from './immutable-of.ts'
import { listBody } from './list-body.ts'
import { listQuery } from './list-query.ts'

/** POST /v3/domains */
export async function createDomain({
  app,
  body,
  links,
}: Call<operations['createDomain']>): Promise<Answer<operations['createDomain']>> {
  const { name, description, enabled, options } = body.domain
  const domain = await makeDomain(app.identity, {
    name,
    description: description ?? '',
    enabled: enabled ?? true,
    immutable: options?.immutable ?? false,
  })
  return { body: { domain: domainView(domain, links) } }
}

/** DELETE /v3/domains/{domain_id} */
export async function deleteDomain({
  app,
  params,
}: Call<operations['deleteDomain']>): Promise<Answer<operations['deleteDomain']>> {
  await removeDomain(app.identity, params.domain_id)
  return {}
}

/** GET /v3/domains */
export async function listDomains(
  call: Call<operations['listDomains']>,
): Promise<Answer<operations['listDomains']>> {
  const { app, context, query, links } = call
  const found = await allDomains(app.identity, context, listQuery(query))
  return { body: listBody(call, 'domains', found, (it) => domainView(it, links)) }
}

/** GET /v3/domains/{domain_id} */
export async function showDomain(
  call: Call<operations['showDomain']>,
): Promise<Answer<operations['showDomain']>> {
  const { app, context, params, links } = call
  const found = await oneDomain(app.identity, context, params.domain_id)
  return { body: { domain: domainView(found, links) } }
}

/** PATCH /v3/domains/{domain_id} */
export async function updateDomain(
  call: Call<operations['updateDomain']>,
): Promise<Answer<operations['updateDomain']>> {
  const { app, params, body, links } = call
  const { description, options, ...rest } = body.domain
  const domain = await changeDomain(app.identity, params.domain_id, {
    ...rest,
    ...(description !== undefined && { description: description ?? '' }),
    ...immutableOf(options),
  })
  return { body: { domain: domainView(domain, links) } }
}
