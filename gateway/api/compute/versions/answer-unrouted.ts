import type { Context, Hono } from 'hono'
import type { Gateway } from '../../../context.ts'
import { authenticate } from '../../../http/authenticate.ts'
import { type Exchange, openExchange } from '../../../http/endpoint.ts'
import type { LinksSource } from '../../../http/links.ts'
import { failureResponse, routerRefusal } from '../../../http/response.ts'
import { SERVICES } from '../../../http/services.ts'
import { versionChoices } from '../../../views/api-version.ts'

const { compute } = SERVICES
/** Behind these Nova serves its API; anything else of the endpoint leads to them. */
const VERSIONED = /^\/compute\/v2\.1\//
const VERSION_DOCUMENTS: ReadonlySet<string> = new Set(['/compute', '/compute/v2', '/compute/v2.1'])

/**
 * What Nova answers where its document has no operation. Its documents of versions are there for every method, and
 * nothing is told of a versioned path without a token.
 */
export async function answerUnrouted(
  app: Hono,
  c: Context,
  gateway: Gateway,
  linksOf: LinksSource,
): Promise<Response> {
  const { path, raw } = c.req
  const exchange = openExchange(c, linksOf)
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
