import type { Context, Hono } from 'hono'
import type { operations } from '#openapi/compute.gen.ts'
import type { Gateway } from '../../context.ts'
import { authenticate } from '../../http/authenticate.ts'
import { type Exchange, openExchange } from '../../http/endpoint.ts'
import type { LinksSource } from '../../http/links.ts'
import type { Answer, Call } from '../../http/operation.ts'
import { failureResponse, routerRefusal } from '../../http/response.ts'
import { SERVICES } from '../../http/services.ts'
import {
  apiVersions,
  describedOldVersion,
  describedVersion,
  versionChoices,
} from '../../views/api-version.ts'

const { compute } = SERVICES
/** Behind these Nova serves its API; anything else of the endpoint leads to them. */
const VERSIONED = /^\/compute\/v2\.1\//
const VERSION_DOCUMENTS: ReadonlySet<string> = new Set(['/compute', '/compute/v2', '/compute/v2.1'])

/**
 * Nova's answer where its document has no operation. Version documents are served for every method, and without a token
 * nothing is revealed about a path with a version.
 */
export async function answerUnrouted(
  app: Hono,
  c: Context,
  gateway: Gateway,
  linksOf: LinksSource,
): Promise<Response> {
  const { path, raw } = c.req
  const exchange = openExchange(c, gateway, linksOf)
  if (VERSION_DOCUMENTS.has(path) && raw.method !== 'GET')
    return app.fetch(new Request(raw.url, { headers: raw.headers }), c.env)
  if (raw.method === 'OPTIONS') return preflight(exchange)
  if (!VERSIONED.test(path)) return choices(exchange, path)
  try {
    await authenticate(gateway.verifier, exchange.input)
  } catch (error) {
    return failureResponse(error, compute, exchange, gateway)
  }
  return routerRefusal(compute, exchange)
}

/** No origin is let in: what a browser asks before a call across origins is answered without saying that it may. */
function preflight({ work: { requestId } }: Exchange): Response {
  return new Response(null, { status: 200, headers: { 'X-Openstack-Request-Id': requestId } })
}

function choices({ links, work: { requestId } }: Exchange, path: string): Response {
  const body = { choices: versionChoices(links, path.slice(compute.prefix.length)) }
  const headers = { 'X-Openstack-Request-Id': requestId }
  return Response.json(body, { status: 300, headers })
}

/** GET / */
async function listVersions({
  links,
}: Call<operations['listVersions']>): Promise<Answer<operations['listVersions']>> {
  return { body: { versions: apiVersions(links) } }
}

/** GET /v2: the endpoint from before microversions. */
async function showOldVersion({
  links,
}: Call<operations['showOldVersion']>): Promise<Answer<operations['showOldVersion']>> {
  return { body: { version: describedOldVersion(links) } }
}

/** GET /v2.1: clients discover the range of microversions here, before they have a token. */
async function showVersion({
  links,
}: Call<operations['showVersion']>): Promise<Answer<operations['showVersion']>> {
  return { body: { version: describedVersion(links) } }
}

export const versionHandlers = { listVersions, showOldVersion, showVersion }
