import type { Hono } from 'hono'
import type { Contract } from '#openapi/contract.ts'
import { type Operation, PUBLIC_POLICY } from '#openapi/projection/operation.ts'
import { policyCheck } from '../app/policy.ts'
import type { Gateway } from '../context.ts'
import { type BoundOperation, type Endpoint, serveEndpoint } from './endpoint.ts'
import type { LinksSource } from './links.ts'
import type { Handlers } from './operation.ts'
import type { ServiceApi } from './services.ts'

/** What serves one document: a handler for each of its operations. */
export interface ServiceRoutes {
  readonly service: ServiceApi
  readonly contract: Contract
  readonly handlers: Handlers
  /** operationIds whose handlers read the body as a stream; such bodies have no size limit here. */
  readonly streaming?: ReadonlySet<string>
}

/**
 * Registers one route per method and path of the document. Throws a plain Error, so that the gateway does not
 * start, for an operation without a handler or with a rule the policy table does not have.
 */
export function registerRoutes(
  app: Hono,
  routes: ServiceRoutes,
  gateway: Gateway,
  linksOf: LinksSource,
): void {
  for (const endpoint of endpointsOf(routes)) {
    // Hono answers HEAD by running GET and dropping the body.
    if (endpoint.method === 'HEAD') continue
    const path = endpoint.route.replaceAll(/\{(\w+)\}/g, ':$1')
    app.on(endpoint.method, path, serveEndpoint(endpoint, gateway, linksOf))
  }
}

function endpointsOf(routes: ServiceRoutes): readonly Endpoint[] {
  const { service, contract } = routes
  const groups = Map.groupBy(contract.operations, ({ method, path }) => `${method} ${path}`)
  return [...groups.values()].map((operations) => {
    const [first] = operations
    if (first === undefined) throw new Error('a group has at least one entry')
    const bound = operations.map((operation) => bind(operation, routes))
    const isAction = first.action !== undefined
    return {
      service,
      contract,
      method: first.method,
      path: first.path,
      route: service.prefix + (first.path === '/' ? '' : first.path),
      single: isAction ? undefined : bound[0],
      actions: new Map(isAction ? bound.map((entry) => [entry.operation, entry]) : []),
    }
  })
}

function bind(
  operation: Operation,
  { handlers, streaming, contract }: ServiceRoutes,
): BoundOperation {
  const handle = handlers[operation.id]
  if (handle === undefined) throw new Error(`${contract.name}: ${operation.id} has no handler`)
  return {
    operation,
    check: operation.policy === PUBLIC_POLICY ? undefined : policyCheck(operation.policy),
    handle,
    isStreaming: streaming?.has(operation.id) ?? false,
  }
}
