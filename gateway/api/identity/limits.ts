import type {
  Limit,
  operations,
  RegisteredLimit as RegisteredLimitBody,
} from '#openapi/identity.gen.ts'
import {
  changeOwnLimit,
  createOwnLimits,
  removeOwnLimit,
} from '../../app/identity/limits/change-own-limits.ts'
import {
  changeRegisteredLimit,
  createRegisteredLimits as create,
  removeRegisteredLimit,
} from '../../app/identity/limits/change-registered-limits.ts'
import type { LimitedResource, OwnLimit, RegisteredLimit } from '../../app/identity/limits/limit.ts'
import { ownerOf } from '../../app/identity/limits/owner-of.ts'
import {
  ENFORCEMENT_MODEL,
  oneOwnLimit,
  oneRegisteredLimit,
  ownLimitPage,
  registeredLimitPage,
} from '../../app/identity/limits/read-limits.ts'
import type { Links } from '../../http/links.ts'
import type { Answer, Call } from '../../http/operation.ts'
import { listBody } from './list-body.ts'

/** POST /v3/limits */
async function createLimits({
  app,
  body,
  links,
}: Call<operations['createLimits']>): Promise<Answer<operations['createLimits']>> {
  const asked = body.limits.map((limit) => ({
    resource: {
      serviceId: limit.service_id,
      regionId: limit.region_id ?? null,
      name: limit.resource_name,
    },
    owner: ownerOf(limit.project_id ?? null, limit.domain_id ?? null),
    resourceLimit: limit.resource_limit,
    description: limit.description ?? null,
  }))
  const made = await createOwnLimits(app.identity, asked)
  return { body: { limits: made.map((it) => limitView(it, links)) } }
}

/** POST /v3/registered_limits */
async function createRegisteredLimits({
  app,
  body,
  links,
}: Call<operations['createRegisteredLimits']>): Promise<
  Answer<operations['createRegisteredLimits']>
> {
  const asked = body.registered_limits.map((limit) => ({
    resource: {
      serviceId: limit.service_id,
      regionId: limit.region_id ?? null,
      name: limit.resource_name,
    },
    defaultLimit: limit.default_limit,
    description: limit.description ?? null,
  }))
  const made = await create(app.identity, asked)
  return { body: { registered_limits: made.map((it) => registeredLimitView(it, links)) } }
}

/** DELETE /v3/limits/{limit_id} */
async function deleteLimit({
  app,
  params,
}: Call<operations['deleteLimit']>): Promise<Answer<operations['deleteLimit']>> {
  await removeOwnLimit(app.identity, params.limit_id)
  return {}
}

/** DELETE /v3/registered_limits/{registered_limit_id} */
async function deleteRegisteredLimit({
  app,
  params,
}: Call<operations['deleteRegisteredLimit']>): Promise<
  Answer<operations['deleteRegisteredLimit']>
> {
  await removeRegisteredLimit(app.identity, params.registered_limit_id)
  return {}
}

interface LimitParameters {
  readonly service_id?: string
  readonly region_id?: string
  readonly resource_name?: string
  readonly limit?: number
  readonly marker?: string
}

/** What a list of limits is asked for. */
function limitFilter(query: LimitParameters) {
  const { service_id: serviceId, region_id: regionId, resource_name: resourceName } = query
  return { serviceId, regionId, resourceName, limit: query.limit, marker: query.marker }
}

/** What openapi/identity/limits.yaml describes. */
export const limitHandlers = {
  createLimits,
  createRegisteredLimits,
  deleteLimit,
  deleteRegisteredLimit,
  listLimits,
  listRegisteredLimits,
  showLimit,
  showLimitModel,
  showRegisteredLimit,
  updateLimit,
  updateRegisteredLimit,
}

/** GET /v3/limits */
async function listLimits(
  call: Call<operations['listLimits']>,
): Promise<Answer<operations['listLimits']>> {
  const { app, context, query, links } = call
  const { project_id: projectId, domain_id: domainId } = query
  const asked = { ...limitFilter(query), projectId, domainId }
  const found = await ownLimitPage(app.identity, context, asked)
  return { body: listBody(call, 'limits', found, (it) => limitView(it, links)) }
}

/** GET /v3/registered_limits */
async function listRegisteredLimits(
  call: Call<operations['listRegisteredLimits']>,
): Promise<Answer<operations['listRegisteredLimits']>> {
  const { app, query, links } = call
  const found = await registeredLimitPage(app.identity, limitFilter(query))
  return {
    body: listBody(call, 'registered_limits', found, (it) => registeredLimitView(it, links)),
  }
}

/** GET /v3/limits/model */
async function showLimitModel(): Promise<Answer<operations['showLimitModel']>> {
  return { body: { model: ENFORCEMENT_MODEL } }
}

/** GET /v3/limits/{limit_id} */
async function showLimit({
  app,
  context,
  params,
  links,
}: Call<operations['showLimit']>): Promise<Answer<operations['showLimit']>> {
  const found = await oneOwnLimit(app.identity, context, params.limit_id)
  return { body: { limit: limitView(found, links) } }
}

/** GET /v3/registered_limits/{registered_limit_id} */
async function showRegisteredLimit({
  app,
  params,
  links,
}: Call<operations['showRegisteredLimit']>): Promise<Answer<operations['showRegisteredLimit']>> {
  const found = await oneRegisteredLimit(app.identity, params.registered_limit_id)
  return { body: { registered_limit: registeredLimitView(found, links) } }
}

/** PATCH /v3/limits/{limit_id} */
async function updateLimit({
  app,
  params,
  body,
  links,
}: Call<operations['updateLimit']>): Promise<Answer<operations['updateLimit']>> {
  const { resource_limit, description } = body.limit
  const changed = await changeOwnLimit(app.identity, params.limit_id, {
    ...(resource_limit !== undefined && { resourceLimit: resource_limit }),
    ...(description !== undefined && { description }),
  })
  return { body: { limit: limitView(changed, links) } }
}

/** PATCH /v3/registered_limits/{registered_limit_id} */
async function updateRegisteredLimit(
  call: Call<operations['updateRegisteredLimit']>,
): Promise<Answer<operations['updateRegisteredLimit']>> {
  const { app, params, body, links } = call
  const { service_id, region_id, resource_name, default_limit, description } = body.registered_limit
  const changed = await changeRegisteredLimit(app.identity, params.registered_limit_id, {
    resource: {
      ...(service_id !== undefined && { serviceId: service_id }),
      ...(region_id !== undefined && { regionId: region_id }),
      ...(resource_name !== undefined && { name: resource_name }),
    },
    ...(default_limit !== undefined && { defaultLimit: default_limit }),
    ...(description !== undefined && { description }),
  })
  return { body: { registered_limit: registeredLimitView(changed, links) } }
}

function registeredLimitView(limit: RegisteredLimit, links: Links): RegisteredLimitBody {
  const { id, resource, defaultLimit, description } = limit
  return {
    id,
    ...resourceView(resource),
    default_limit: defaultLimit,
    description,
    links: { self: links.to(`/identity/v3/registered_limits/${id}`) },
  }
}

function limitView(limit: OwnLimit, links: Links): Limit {
  const { id, resource, owner, resourceLimit, description } = limit
  return {
    id,
    ...resourceView(resource),
    resource_limit: resourceLimit,
    description,
    project_id: owner.type === 'project' ? owner.id : null,
    domain_id: owner.type === 'domain' ? owner.id : null,
    links: { self: links.to(`/identity/v3/limits/${id}`) },
  }
}

function resourceView({ serviceId, regionId, name }: LimitedResource) {
  return { service_id: serviceId, region_id: regionId, resource_name: name }
}
