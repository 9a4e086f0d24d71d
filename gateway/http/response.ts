import type { IncomingMessage } from 'node:http'
import { errorFields } from '#common/log.ts'
import type { Gateway } from '../context.ts'
import type { Exchange } from './endpoint.ts'
import { faultOf } from './faults.ts'
import { versionHeaders } from './microversion.ts'
import type { Answer } from './operation.ts'
import { VIA } from './refuse-ring.ts'
import type { ServiceFace } from './services.ts'

/** The answer of an operation, pruned and written, with the headers of its service. */
export function answerResponse(
  answer: Answer,
  status: number,
  serialize: (value: unknown) => string,
  service: ServiceFace,
  exchange: Exchange,
): Response {
  const headers = standardHeaders(service, exchange)
  if (answer.stream !== undefined)
    return new Response(answer.stream, { status, headers: Object.assign(headers, answer.headers) })
  const text = serialize(answer.body)
  if (text !== '') headers['Content-Type'] = 'application/json'
  if (answer.headers !== undefined) Object.assign(headers, answer.headers)
  return new Response(bodyOf(text), { status, headers })
}

/** A longer text goes out as bytes: else it is gone through once for its length and once more to be sent. */
const BYTES_FROM_CHARS = 16_384

function bodyOf(text: string): string | Uint8Array<ArrayBuffer> | null {
  if (text === '') return null
  return text.length < BYTES_FROM_CHARS ? text : Buffer.from(text)
}

/** A refusal or failure in the words of the service; what is ours to fix is logged with its whole chain. */
export function failureResponse(
  error: unknown,
  service: ServiceFace,
  exchange: Exchange,
  { log, refusals }: Pick<Gateway, 'log' | 'refusals'>,
): Response {
  const fault = faultOf(error, service.faults, exchange.work.requestId)
  if (fault.isOurs) {
    const fields = { request_id: exchange.work.requestId, ...errorFields(error) }
    // Nobody reads the answer, and nothing of ours is wrong: the connection was broken off.
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

function hasHungUp({ c }: Exchange): boolean {
  const { incoming } = (c.env ?? {}) as { readonly incoming?: IncomingMessage }
  return incoming?.destroyed === true && !incoming.complete
}

function messageKind(error: unknown): string {
  return error instanceof Error ? error.message : ''
}

function standardHeaders(service: ServiceFace, exchange: Exchange): Record<string, string> {
  const { requestId } = exchange.work
  const headers: Record<string, string> = { 'X-Openstack-Request-Id': requestId }
  const via = exchange.input.header(VIA)
  if (via !== undefined) headers[VIA] = via
  if (!service.hasMicroversions) return headers
  if (service.name === 'compute') headers['X-Compute-Request-Id'] = requestId
  return Object.assign(headers, versionHeaders(service.name, exchange.microversion))
}
