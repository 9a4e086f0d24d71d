import { Failure } from '#common/errors.ts'
import type { operations } from '#openapi/identity.gen.ts'
import { catalogEntries, oneEntry, selected } from '../../app/identity/catalog-entries.ts'
import {
  changeEndpoint,
  changeRegion,
  changeService,
  createEndpoint as makeEndpoint,
  createRegion as makeRegion,
  createService as makeService,
  removeEndpoint,
  removeRegion,
  removeService,
} from '../../app/identity/change-catalog.ts'
import type { Answer, Call } from '../../http/operation.ts'
import { endpointView, regionView, serviceView } from '../../views/identity/catalog.ts'
import { listBody } from './list-body.ts'

/** POST /v3/endpoints */
export async function createEndpoint({
  app,
  body,
  links,
}: Call<operations['createEndpoint']>): Promise<Answer<operations['createEndpoint']>> {
  const {
    interface: interfaceName,
    url,
    service_id,
    region_id,
    region,
    enabled,
    ...extra
  } = body.endpoint
  const made = await makeEndpoint(app.identity, {
    interface: interfaceName,
    url,
    serviceId: service_id,
    regionId: region_id ?? null,
    region: region ?? undefined,
    enabled: enabled ?? true,
    extra,
  })
  return { body: { endpoint: endpointView(made, links) } }
}

type Create = operations['createRegion']
type Put = operations['putRegion']
type Asked = Call<Create>['body']['region']

/** POST /v3/regions */
export async function createRegion({ app, body, links }: Call<Create>): Promise<Answer<Create>> {
  const { id, fields } = fieldsOf(body.region)
  const made = await makeRegion(app.identity, { id, ...fields })
  return { body: { region: regionView(made, links) } }
}

/** PUT /v3/regions/{region_id} */
export async function putRegion(call: Call<Put>): Promise<Answer<Put>> {
  const { app, params, body, links } = call
  const { id, fields } = fieldsOf(body.region)
  if (id !== undefined && id !== params.region_id)
    throw new Failure(
      'invalid',
      `The region's id is '${id}' and not that of the URL: leave it out.`,
    )
  const made = await makeRegion(app.identity, { id: params.region_id, ...fields })
  return { body: { region: regionView(made, links) } }
}

function fieldsOf({ id, enabled: _enabled, description, parent_region_id, ...extra }: Asked) {
  const parentRegionId = parent_region_id ?? null
  return { id, fields: { description: description ?? '', parentRegionId, extra } }
}

/** POST /v3/services */
export async function createService({
  app,
  body,
  links,
}: Call<operations['createService']>): Promise<Answer<operations['createService']>> {
  const { type, name, description, enabled, ...extra } = body.service
  const made = await makeService(app.identity, {
    type,
    name: name ?? '',
    description: description ?? '',
    enabled: enabled ?? true,
    extra,
  })
  return { body: { service: serviceView(made, links) } }
}

/** DELETE /v3/endpoints/{endpoint_id} */
export async function deleteEndpoint({
  app,
  params,
}: Call<operations['deleteEndpoint']>): Promise<Answer<operations['deleteEndpoint']>> {
  await removeEndpoint(app.identity, params.endpoint_id)
  return {}
}

/** DELETE /v3/regions/{region_id} */
export async function deleteRegion({
  app,
  params,
}: Call<operations['deleteRegion']>): Promise<Answer<operations['deleteRegion']>> {
  await removeRegion(app.identity, params.region_id)
  return {}
}

/** DELETE /v3/services/{service_id} */
export async function deleteService({
  app,
  params,
}: Call<operations['deleteService']>): Promise<Answer<operations['deleteService']>> {
  await removeService(app.identity, params.service_id)
  return {}
}

/** GET /v3/endpoints */
export async function listEndpoints(
  call: Call<operations['listEndpoints']>,
): Promise<Answer<operations['listEndpoints']>> {
  const { app, query, links } = call
  const { endpoints } = await catalogEntries(app.identity, links.root)
  const wanted = {
    interface: query.interface,
    serviceId: query.service_id,
    regionId: query.region_id,
  }
  const found = selected(endpoints, wanted, query)
  return { body: listBody(call, 'endpoints', found, (it) => endpointView(it, links)) }
}

/** GET /v3/regions */
export async function listRegions(
  call: Call<operations['listRegions']>,
): Promise<Answer<operations['listRegions']>> {
  const { app, query, links } = call
  const { regions } = await catalogEntries(app.identity, links.root)
  const wanted = { parentRegionId: query.parent_region_id }
  const found = selected(regions, wanted, query)
  return { body: listBody(call, 'regions', found, (it) => regionView(it, links)) }
}

/** GET /v3/services */
export async function listServices(
  call: Call<operations['listServices']>,
): Promise<Answer<operations['listServices']>> {
  const { app, query, links } = call
  const { services } = await catalogEntries(app.identity, links.root)
  const wanted = { name: query.name, type: query.type }
  const found = selected(services, wanted, query)
  return { body: listBody(call, 'services', found, (it) => serviceView(it, links)) }
}

/** GET /v3/endpoints/{endpoint_id} */
export async function showEndpoint({
  app,
  params,
  links,
}: Call<operations['showEndpoint']>): Promise<Answer<operations['showEndpoint']>> {
  const { endpoints } = await catalogEntries(app.identity, links.root)
  const found = oneEntry(endpoints, 'endpoint', params.endpoint_id)
  return { body: { endpoint: endpointView(found, links) } }
}

/** GET /v3/regions/{region_id} */
export async function showRegion({
  app,
  params,
  links,
}: Call<operations['showRegion']>): Promise<Answer<operations['showRegion']>> {
  const { regions } = await catalogEntries(app.identity, links.root)
  const found = oneEntry(regions, 'region', params.region_id)
  return { body: { region: regionView(found, links) } }
}

/** GET /v3/services/{service_id} */
export async function showService({
  app,
  params,
  links,
}: Call<operations['showService']>): Promise<Answer<operations['showService']>> {
  const { services } = await catalogEntries(app.identity, links.root)
  const found = oneEntry(services, 'service', params.service_id)
  return { body: { service: serviceView(found, links) } }
}

/** PATCH /v3/endpoints/{endpoint_id} */
export async function updateEndpoint(
  call: Call<operations['updateEndpoint']>,
): Promise<Answer<operations['updateEndpoint']>> {
  const { app, params, body, links } = call
  const {
    interface: interfaceName,
    url,
    service_id,
    region_id,
    region,
    enabled,
    ...extra
  } = body.endpoint
  const changed = await changeEndpoint(app.identity, params.endpoint_id, {
    ...(interfaceName !== undefined && { interface: interfaceName }),
    ...(url !== undefined && { url }),
    ...(service_id !== undefined && { serviceId: service_id }),
    ...(region_id !== undefined && { regionId: region_id }),
    ...(region != null && { region }),
    ...(enabled !== undefined && { enabled }),
    extra,
  })
  return { body: { endpoint: endpointView(changed, links) } }
}

/** PATCH /v3/regions/{region_id} */
export async function updateRegion(
  call: Call<operations['updateRegion']>,
): Promise<Answer<operations['updateRegion']>> {
  const { app, params, body, links } = call
  const { id: _id, enabled: _enabled, description, parent_region_id, ...extra } = body.region
  const changed = await changeRegion(app.identity, params.region_id, {
    ...(description !== undefined && { description: description ?? '' }),
    ...(parent_region_id !== undefined && { parentRegionId: parent_region_id }),
    extra,
  })
  return { body: { region: regionView(changed, links) } }
}

/** PATCH /v3/services/{service_id} */
export async function updateService(
  call: Call<operations['updateService']>,
): Promise<Answer<operations['updateService']>> {
  const { app, params, body, links } = call
  const { type, name, description, enabled, ...extra } = body.service
  const changed = await changeService(app.identity, params.service_id, {
    ...(type !== undefined && { type }),
    ...(name !== undefined && { name: name ?? '' }),
    ...(description !== undefined && { description: description ?? '' }),
    ...(enabled !== undefined && { enabled }),
    extra,
  })
  return { body: { service: serviceView(changed, links) } }
}
