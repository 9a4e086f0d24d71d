import { Hono } from 'hono'
import { workContext } from '#common/context.ts'
import { contractOf } from '#openapi/contract.ts'
import { type DocumentName, presentDocuments } from '#openapi/load-document.ts'
import { answerUnrouted } from './api/compute/versions.ts'
import { HANDLERS, STREAMING } from './api/handlers.ts'
import type { Gateway } from './context.ts'
import { registerDocuments } from './http/documents.ts'
import { openExchange } from './http/endpoint.ts'
import { HttpRefusal } from './http/http-refusal.ts'
import { type LinksSource, linksSource } from './http/links.ts'
import { normalPath } from './http/normal-path.ts'
import { CONSOLE_PAGES } from './http/pages/console-pages.ts'
import { HOME_PAGE } from './http/pages/home-page.ts'
import { registerPage } from './http/pages/page.ts'
import { REFERENCE_PAGE } from './http/pages/reference-page.ts'
import { registerSession } from './http/pages/session.ts'
import { UI_PAGE } from './http/pages/ui-page.ts'
import { registerProbes } from './http/probes.ts'
import { failureResponse } from './http/response.ts'
import { registerRoutes } from './http/routes.ts'
import { SERVICES, type ServiceApi, serviceAt } from './http/services.ts'

/**
 * The whole HTTP interface of a gateway. The order in which a request is looked at:
 *
 * 1. `normalPath`: aliases become the one spelling, so that everything after it sees one route per operation.
 * 2. routing: by method and path of the documents. What no document has ends here, before anything is spent on it.
 * 3. `serveEndpoint` (http/endpoint.ts): request id, links, token, rule, microversion, body, validation, handler,
 *    pruned answer; any failure on the way leaves in the envelope of the service, and is counted like the rest.
 *
 * There is no middleware but what compresses pages: each route is one function, because a chain costs every read and
 * hides the order.
 */
export function createServer(
  gateway: Gateway,
  served: readonly DocumentName[] = presentDocuments(),
): Hono {
  const { config } = gateway
  const app = new Hono({ getPath: normalPath })
  const elsewhere = config.externalIdentity?.url
  const linksOf = linksSource(config.publicUrl, gateway.isTrustedProxy, elsewhere)
  const contracts = served
    .filter((name) => name !== 'identity' || elsewhere === undefined)
    .map(contractOf)

  for (const contract of contracts) {
    const service = SERVICES[contract.name]
    const routes = { service, contract, handlers: HANDLERS[contract.name], streaming: STREAMING }
    registerRoutes(app, routes, gateway, linksOf)
  }
  registerDocuments(app, contracts)
  for (const page of [HOME_PAGE, REFERENCE_PAGE, UI_PAGE, ...CONSOLE_PAGES])
    registerPage(app, page, linksOf)
  registerSession(app, gateway, linksOf)
  registerProbes(app, gateway)
  refuseTheRest(app, gateway, linksOf)
  return app
}

const NOT_FOUND = new HttpRefusal(404, 'There is nothing at this path with this method.')
const KEPT_BY_CELLS = new HttpRefusal(
  405,
  'This cannot be written: cells keep their providers, inventories and allocations themselves. Administrators write the traits of hosts, and what these keep for themselves.',
)

function refusalOf(
  { config: { externalIdentity } }: Gateway,
  { name }: ServiceApi,
  method: string,
): HttpRefusal {
  if (name === 'placement' && method !== 'GET') return KEPT_BY_CELLS
  if (name !== 'identity' || externalIdentity === undefined) return NOT_FOUND
  return new HttpRefusal(404, `Identity is not served here: ask ${externalIdentity.url}.`)
}

function refuseTheRest(app: Hono, gateway: Gateway, linksOf: LinksSource): void {
  app.notFound((c) => {
    const service = serviceAt(c.req.path)
    if (service.name === 'compute') return answerUnrouted(app, c, gateway, linksOf)
    const refusal = refusalOf(gateway, service, c.req.method)
    return failureResponse(refusal, service, openExchange(c, gateway, linksOf), gateway)
  })
  app.onError((error, c) => {
    const exchange = { ...openExchange(c, gateway, linksOf), work: workContext({}) }
    return failureResponse(error, serviceAt(c.req.path), exchange, gateway)
  })
}
