import { Failure } from '#common/errors.ts'
import { withoutTrailing } from '#common/without-trailing.ts'
import type { paths as ComputePaths } from '#openapi/compute.gen.ts'
import type { paths as FederationPaths } from '#openapi/federation.gen.ts'
import type { paths as PlacementPaths } from '#openapi/placement.gen.ts'
import type { Operator } from '../operator.ts'
import { authRequest } from './auth-request.ts'
import { type CloudConfig, type CloudOptions, cloudConfig } from './cloud-config.ts'
import { knownClouds } from './clouds-file.ts'
import { refusalOf } from './refusal.ts'
import { ServiceClient } from './service-client.ts'
import { type Transport, transportTo } from './transport.ts'

/** A cloud one is signed in to. */
export interface Session {
  readonly federation: ServiceClient<FederationPaths>
  readonly compute: ServiceClient<ComputePaths>
  /** Throws `not-found` where the catalog does not list it: few commands ask it. */
  placement(): ServiceClient<PlacementPaths>
}

interface Service {
  readonly type: string
  readonly endpoints: readonly {
    readonly interface: string
    readonly region: string
    readonly url: string
  }[]
}

/** All that is read of servers has this shape. */
const COMPUTE_VERSION = '2.96'
const PLACEMENT_VERSION = '1.39'

/** Logs in to the selected cloud. Throws when there is none, when it refuses, and when it is not a Weir. */
export async function openSession(operator: Operator, options: CloudOptions): Promise<Session> {
  const cloud = cloudConfig(options, operator.env, knownClouds(operator), operator.local.name)
  const transport = await transportTo(cloud)
  const { token, catalog } = await signIn(cloud, transport)
  const headers = { 'X-Auth-Token': token }
  const version = { 'OpenStack-API-Version': `compute ${COMPUTE_VERSION}` }
  const ofPlacement = { 'OpenStack-API-Version': `placement ${PLACEMENT_VERSION}` }
  const endpoint = (type: string) => endpointOf(cloud, catalog, type)
  return {
    federation: new ServiceClient(endpoint('federation'), headers, transport),
    compute: new ServiceClient(endpoint('compute'), { ...headers, ...version }, transport),
    placement: () =>
      new ServiceClient(endpoint('placement'), { ...headers, ...ofPlacement }, transport),
  }
}

async function signIn(cloud: CloudConfig, transport: Transport) {
  const given = cloud.auth['auth_url']
  if (given === undefined) throw new Failure('invalid', `Cloud ${cloud.name} has no auth_url.`)
  const authUrl = withoutTrailing(given, '/')
  const url = `${authUrl.endsWith('/v3') ? authUrl : `${authUrl}/v3`}/auth/tokens`
  const response = await transport(url, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(authRequest(cloud)),
  })
  const token = response.headers.get('x-subject-token')
  const text = await response.text()
  if (token === null) throw refusalOf(response.status, url, text)
  const body = JSON.parse(text) as { readonly token: { readonly catalog?: readonly Service[] } }
  return { token, catalog: body.token.catalog ?? [] }
}

/** Without its version: the paths of the documents begin with it. */
function endpointOf(cloud: CloudConfig, catalog: readonly Service[], type: string): string {
  const endpoint = catalog
    .find((service) => service.type === type)
    ?.endpoints.find(
      (each) =>
        each.interface === cloud.interface &&
        (cloud.region === undefined || each.region === cloud.region),
    )
  if (endpoint !== undefined) return endpoint.url.replace(/\/(v[\d.]+\/?)?$/, '')
  throw new Failure(
    'not-found',
    `The catalog of cloud ${cloud.name} has no ${cloud.interface} endpoint of ${type}${cloud.region === undefined ? '' : ` in region ${cloud.region}`}. Is it a Weir? See: openstack catalog list`,
  )
}
