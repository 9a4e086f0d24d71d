import type { HttpBindings } from '@hono/node-server'
import { errorFields } from '#common/log.ts'
import type { Gateway } from '../context.ts'
import type { Exchange } from './endpoint.ts'
import { faultOf } from './faults.ts'
import { versionHeaders } from './microversion.ts'
import type { Answer } from './operation.ts'
import { VIA } from './refuse-ring.ts'
import type { ServiceApi } from './services.ts'
import { longListOf, writeList } from './write-list.ts'

/** The answer of an operation, pruned and written, with the headers of its service. */
export async function answerResponse(
  answer: Answer,
  status: number,
  serialize: (value: unknown) => string,
  service: ServiceApi,
  exchange: Exchange,
): Promise<Response> {
  const headers = standardHeaders(service, exchange)
  if (answer.stream !== undefined)
    return new Response(answer.stream, { status, headers: Object.assign(headers, answer.headers) })
  const list = answer.list ?? longListOf(answer.body)
  const text =
    list === undefined
      ? serialize(answer.body)
      : await writeList(answer.body ?? {}, list, serialize)
  // Nova names the type of a missing object, too, and a client of its own may look for it.
  if (text.length > 0 || service.name === 'compute') headers['Content-Type'] = 'application/json'
  if (answer.headers !== undefined) Object.assign(headers, answer.headers)
  return new Response(bodyOf(text), { status, headers })
}

/** A longer text goes out as bytes: else it is gone through once for its length and once more to be sent. */
const BYTES_FROM_CHARS = 16_384

function bodyOf(text: string | Uint8Array<ArrayBuffer>): string | Uint8Array<ArrayBuffer> | null {
  if (text === '') return null
  if (typeof text !== 'string') return text
  return text.length < BYTES_FROM_CHARS ? text : Buffer.from(text)
}

/** A refusal or failure in the words of the service; failures that Weir has to fix are logged with their whole chain. */
export function failureResponse(
  error: unknown,
  service: ServiceApi,
  exchange: Exchange,
  { log, refusals }: Pick<Gateway, 'log' | 'refusals'>,
): Response {
  const fault = faultOf(error, service.faults, exchange.work.requestId)
  if (fault.isOurs) {
    const fields = { request_id: exchange.work.requestId, ...errorFields(error) }
    // No client reads the answer, and Weir has no fault: the client broke off the connection.
    if (hasHungUp(exchange)) log.debug(fields, 'client hung up')
    else if (fault.status === 503) refusals.refused(messageKind(error), fields)
    else log.error(fields, 'request failed')
  }
  const headers = standardHeaders(service, exchange)
  headers['Content-Type'] = fault.contentType
  if (fault.retryAfter !== undefined) headers['Retry-After'] = String(fault.retryAfter)
  if (fault.status === 401)
    headers['WWW-Authenticate'] = `Keystone uri="${exchange.links.identity}"`
  return new Response(fault.body, { status: fault.status, headers })
}

const NOTHING_HERE = 'There is nothing at this path with this method.'

/**
 * The answer of Nova's router for a path without an operation: flat, not in the envelope of faults, without a version,
 * and in the type that the client accepts.
 */
export function routerRefusal(service: ServiceApi, exchange: Exchange): Response {
  const { requestId } = exchange.work
  const accept = exchange.input.header('accept') ?? ''
  const [type, body] = accept.includes('html')
    ? [
        'text/html',
        `<html><title>404 Not Found</title><h1>404 Not Found</h1>${NOTHING_HERE}</html>`,
      ]
    : [
        'application/json',
        JSON.stringify({ message: NOTHING_HERE, code: '404 Not Found', title: 'Not Found' }),
      ]
  const headers = {
    'X-Openstack-Request-Id': requestId,
    ...(service.name === 'compute' && { 'X-Compute-Request-Id': requestId }),
    'Content-Type': `${type}; charset=UTF-8`,
  }
  return new Response(body, { status: 404, headers })
}

function hasHungUp({ c }: Exchange): boolean {
  const { incoming, outgoing } = (c.env ?? {}) as Partial<HttpBindings>
  return outgoing?.destroyed === true || (incoming?.destroyed === true && !incoming.complete)
}

function messageKind(error: unknown): string {
  return error instanceof Error ? error.message : ''
}

function standardHeaders(service: ServiceApi, exchange: Exchange): Record<string, string> {
  const { requestId } = exchange.work
  const headers: Record<string, string> = { 'X-Openstack-Request-Id': requestId }
  const via = exchange.input.header(VIA)
  if (via !== undefined) headers[VIA] = via
  if (!service.hasMicroversions) return headers
  if (service.name === 'compute') headers['X-Compute-Request-Id'] = requestId
  if (exchange.isLegacy) return headers
  return Object.assign(headers, versionHeaders(service.name, exchange.microversion))
}
