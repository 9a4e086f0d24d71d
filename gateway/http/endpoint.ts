import type { ServerResponse } from 'node:http'
import type { Context } from 'hono'
import { Failure } from '#common/errors.ts'
import { type Contract, UNVERSIONED } from '#openapi/contract.ts'
import type { Microversion } from '#openapi/microversions.ts'
import type { Operation } from '#openapi/projection/operation.ts'
import { deleteOnce } from '../app/delete-once.ts'
import { deleteKey } from '../app/idempotency-key.ts'
import { allowsRequest } from '../app/identity/access-rule.ts'
import type { PolicyCheck } from '../app/policy.ts'
import { isIdempotent, tracked } from '../app/repeatable.ts'
import { ANONYMOUS, type Caller } from '../app/request-context.ts'
import { TooManyRequests } from '../app/request-limiter.ts'
import type { Gateway } from '../context.ts'
import { audited } from './audited.ts'
import { authenticate } from './authenticate.ts'
import { givenBack, held, keptIfLong } from './given-back.ts'
import { type HttpInput, httpInput, withoutIdentityHeaders } from './http-input.ts'
import { NOVA_BODY, readJsonBody } from './json-body.ts'
import type { Links, LinksSource } from './links.ts'
import { logAnswer } from './log-answer.ts'
import { negotiateMicroversion } from './microversion.ts'
import { isLegacyCompute, legacyLinks, refuseForeignProject } from './normal-path.ts'
import type { Answer, Call, RawRequest } from './operation.ts'
import { refuseRing } from './refuse-ring.ts'
import { type RequestWork, recordRequest, requestWork } from './request-trace.ts'
import { answerResponse, failureResponse, routerRefusal } from './response.ts'
import type { ServiceApi } from './services.ts'
import { peerOf } from './trusted-proxies.ts'
import { workKind } from './work-kind.ts'

/** The answer to a delete whose object an earlier request with the same key has deleted. */
const NOTHING_LEFT: Answer = {}
/** Their paths may carry the project, and their versions are listed outside of any microversion. */
const LIKE_NOVA: ReadonlySet<string> = new Set(['compute', 'volume'])

/** An operation ready to be served: its rule and handler looked up once, at start. */
export interface BoundOperation {
  readonly operation: Operation
  /** Undefined where anyone may, without a token. */
  readonly check: PolicyCheck | undefined
  readonly handle: (call: never) => Promise<Answer>
  /** True when the handler reads the body as a stream. */
  readonly isStreaming: boolean
}

/** One method and path: a single operation, or the actions a body chooses among. */
export interface Endpoint {
  readonly service: ServiceApi
  readonly contract: Contract
  readonly method: string
  /** As in the document. */
  readonly path: string
  /** The path with the service's prefix: the label in metrics. */
  readonly route: string
  readonly single: BoundOperation | undefined
  readonly actions: ReadonlyMap<Operation, BoundOperation>
}

/** One request on its way through the stages. */
export interface Exchange extends RequestWork {
  readonly c: Context
  readonly input: HttpInput
  readonly links: Links
  /** True on Nova's endpoint from before microversions. */
  readonly isLegacy: boolean
  /** '' until it is negotiated, and always where the service has none. */
  microversion: Microversion | ''
  /** Undefined until the token was found valid. */
  caller?: Caller
  /** Undefined until it is known which is meant. */
  operation?: Operation
}

/** Serves one endpoint as a single function: no middleware chain, no answer rewritten on its way out. */
export function serveEndpoint(
  endpoint: Endpoint,
  gateway: Gateway,
  linksOf: LinksSource,
): (c: Context) => Promise<Response> {
  const { service, method, route } = endpoint
  return async (c) => {
    const startedAt = performance.now()
    const exchange = openExchange(c, gateway, linksOf)
    let response = await tracked(isIdempotent(method, c.req.path), async (mayRepeat) => {
      try {
        return await held(exchange, gateway, () => runStages(endpoint, gateway, exchange))
      } catch (error) {
        const refused = failureResponse(error, service, exchange, gateway)
        return mayRepeat() ? givenBack(error, refused, exchange, gateway) : refused
      }
    })
    try {
      await audited(gateway.audit, endpoint, exchange, response.status)
    } catch (error) {
      response = failureResponse(error, service, exchange, gateway)
    }
    const { microversion } = exchange
    const answered = { method, route, status: response.status, microversion }
    gateway.metrics.observe(answered, startedAt)
    recordRequest(exchange, c, answered, startedAt)
    logAnswer(gateway.log, exchange, answered, response.headers.get('location'))
    return response
  }
}

/** The request's id comes first, so that everything that follows, a refusal included, can be found by it. */
export function openExchange(
  c: Context,
  { requestSampling }: Pick<Gateway, 'requestSampling'>,
  linksOf: LinksSource,
): Exchange {
  const input = httpInput(c)
  const { work, callerSpanId } = requestWork(input, requestSampling)
  const isLegacy = isLegacyCompute(input.request)
  return {
    c,
    input,
    work,
    callerSpanId,
    links: isLegacy ? legacyLinks(linksOf(input)) : linksOf(input),
    isLegacy,
    microversion: '',
  }
}

/**
 * The order, and why: requests that are too many or too large end before they cost anything, then those that go round
 * in a ring; then the token, so that callers without one learn nothing; then the project's rate, and whether its queue
 * is full; the microversion, which every later answer names, and by which an operation may be absent; the rule before
 * the body is read, so that only allowed requests cost memory (an action's rule is known only from its body). A valid
 * request waits for its project's turn last, so that no client that sends slowly has a place.
 */
async function runStages(
  endpoint: Endpoint,
  gateway: Gateway,
  exchange: Exchange,
): Promise<Response> {
  const { service, single } = endpoint
  // A stream takes as long as its client likes, and waits for the client alone.
  using _slot = single?.isStreaming === true ? undefined : gateway.requestSlots.take()
  refuseRing(exchange.input.header, gateway.compute.cells)
  const isPublic = single !== undefined && single.check === undefined
  const caller = isPublic ? ANONYMOUS : await authenticate(gateway.verifier, exchange.input)
  const isAdmitted = isPublic || single?.isStreaming === true
  const kind = workKind(endpoint, searchOf(exchange.c.req.url))
  if (!isPublic) refuseTooMany(gateway, caller)
  if (!isAdmitted) gateway.admission.refuseIfFull(kind, projectOf(caller))
  exchange.caller = caller
  if (single !== undefined) exchange.operation = single.operation
  refuseOutsideRules(endpoint, exchange, caller)
  const isCompute = service.name === 'compute'
  if (isCompute && !isPublic && exchange.c.req.raw.method === 'HEAD')
    return routerRefusal(service, exchange)
  const version = service.hasMicroversions ? negotiate(endpoint, exchange) : UNVERSIONED
  if (single !== undefined) refuseAbsent(endpoint, single.operation, version)
  single?.check?.(caller)
  if (!isPublic && LIKE_NOVA.has(service.name)) refuseForeignProject(exchange.input.request, caller)
  const body = single?.isStreaming === true ? undefined : await bodyOf(endpoint, exchange)
  const bound = single ?? chosenAction(endpoint, version, body)
  const { operation } = bound
  exchange.operation = operation
  if (single === undefined) bound.check?.(caller)

  const call = callOf(gateway, exchange, caller, { bound, version, body })
  using _place = isAdmitted
    ? undefined
    : await gateway.admission.take(kind, projectOf(caller), connectionOf(exchange))
  const { header } = exchange.input
  const handle = () => keptIfLong(header, () => bound.handle(call as never))
  const answer =
    endpoint.method === 'DELETE'
      ? ((await deleteOnce(gateway.db, keyOfDelete(exchange, caller), handle)) ?? NOTHING_LEFT)
      : await handle()
  const status = answer.status ?? operation.successStatus(version)
  return await answerResponse(
    answer,
    status,
    operation.response(version, status),
    service,
    exchange,
  )
}

function keyOfDelete({ c, input }: Exchange, caller: Caller) {
  return deleteKey(caller, input.header('idempotency-key'), c.req.path)
}

function refuseAbsent({ route }: Endpoint, operation: Operation, version: Microversion): void {
  if (operation.isAvailable(version)) return
  const kind = operation.absentAs === 400 ? 'invalid' : 'not-found'
  throw new Failure(kind, `${route} does not exist at microversion ${version}.`)
}

/** Requests of no project count as those of one of its own for each user. */
function projectOf({ projectId, userId }: Caller): string {
  return projectId ?? userId
}

/** Undefined for a request made inside the process. */
function connectionOf({ c }: Exchange): ServerResponse | undefined {
  return (c.env as { readonly outgoing?: ServerResponse } | undefined)?.outgoing
}

/** Refuses with 429 a project that asks more often than the operator lets any. */
function refuseTooMany({ requestLimiter }: Pick<Gateway, 'requestLimiter'>, caller: Caller): void {
  const waitMs = requestLimiter?.take(projectOf(caller)) ?? 0
  if (waitMs === 0) return
  const waitS = Math.ceil(waitMs / 1_000)
  throw new TooManyRequests(`This project asks too often: try again in ${waitS} s.`, waitMs)
}

/** A token got with an application credential that has access rules makes those requests and no others. */
function refuseOutsideRules({ service }: Endpoint, { c }: Exchange, { accessRules }: Caller): void {
  if (accessRules === null) return
  const path = c.req.path.slice(service.prefix.length)
  const { method } = c.req
  const services = service.types ?? [service.name]
  if (!services.some((type) => allowsRequest(accessRules, { service: type, method, path })))
    throw new Failure(
      'forbidden',
      `The application credential's access rules do not allow ${method} ${path} of ${service.name}.`,
    )
}

function negotiate({ contract, path, service }: Endpoint, exchange: Exchange): Microversion {
  const { header } = exchange.input
  // Nova and Cinder list their versions in none of them.
  if (LIKE_NOVA.has(contract.name) && path === '/') return contract.versions[0] ?? UNVERSIONED
  if (exchange.isLegacy) {
    exchange.microversion = contract.versions[0] ?? ''
    return contract.versions[0] ?? UNVERSIONED
  }
  const version = negotiateMicroversion(
    { ...service, versions: contract.versions },
    header('openstack-api-version'),
    contract.name === 'compute' ? header('x-openstack-nova-api-version') : undefined,
  )
  exchange.microversion = version
  return version
}

async function bodyOf({ method, service }: Endpoint, { input }: Exchange): Promise<unknown> {
  if (method === 'GET') return undefined
  return service.name === 'compute' ? readJsonBody(input, NOVA_BODY) : readJsonBody(input)
}

function chosenAction(
  { contract, path, actions }: Endpoint,
  version: Microversion,
  body: unknown,
): BoundOperation {
  const bound = actions.get(contract.action(path, version, body))
  if (bound === undefined) throw new Error(`no handler is bound for an action on ${path}`)
  return bound
}

const SPELT_UUID = /^[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$/

/** Nova finds a server by its id in either case: its database compares so. */
function paramsOf(c: Context): Record<string, string> {
  const params = c.req.param() as Record<string, string>
  const { server_id } = params
  if (server_id === undefined || !SPELT_UUID.test(server_id)) return params
  return { ...params, server_id: server_id.toLowerCase() }
}

const NO_QUERY = new URLSearchParams()

function callOf(
  gateway: Gateway,
  exchange: Exchange,
  caller: Caller,
  asked: { readonly bound: BoundOperation; readonly version: Microversion; readonly body: unknown },
): Call {
  const { c, work, links, microversion } = exchange
  const contract = asked.bound.operation.request(asked.version)
  const search = searchOf(c.req.url)
  return {
    app: gateway,
    context: { ...work, ...caller, microversion },
    params: paramsOf(c),
    query: contract.validateQuery(search === '' ? NO_QUERY : new URLSearchParams(search)),
    body: asked.bound.isStreaming
      ? undefined
      : exchange.isLegacy
        ? contract.validateLegacyBody(asked.body)
        : contract.validateBody(asked.body),
    links,
    raw: rawRequest(gateway, exchange, search),
  }
}

function searchOf(url: string): string {
  const start = url.indexOf('?')
  return start === -1 ? '' : url.slice(start)
}

/** Of values only: an object made with accessors of its own at every request halves how many lists are answered. */
function rawRequest(
  { isTrustedProxy }: Gateway,
  { c, input }: Exchange,
  search: string,
): RawRequest {
  return {
    stream: () => input.request.body,
    header: withoutIdentityHeaders(input.header),
    path: asUri(c.req.path),
    search: asUri(search),
    peer: () => peerOf(input, isTrustedProxy),
    signal: () => input.request.signal,
  }
}

/** The characters that a URI may have unescaped. */
const URI = /^[\w\-.!~*'();/?:@&=+$,#%]*$/

/** Escapes characters that no URI may hold, such as control characters; escaped ones stay as they are. */
function asUri(text: string): string {
  return URI.test(text) ? text : encodeURI(text.toWellFormed()).replaceAll('%25', '%')
}
