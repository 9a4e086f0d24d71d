import type { Context } from 'hono'
import { type WorkContext, workContext } from '#common/context.ts'
import { isTraced, spanMeasure } from '#common/trace/span.ts'
import {
  childTraceparent,
  isSampled,
  parseTraceparent,
  spanIdOf,
} from '#common/trace/traceparent.ts'
import type { HttpInput } from './http-input.ts'
import { callerAddress, type IsTrustedProxy } from './trusted-proxies.ts'

/** Which requests are traced. */
export interface RequestSampling {
  readonly isTrustedProxy: IsTrustedProxy
  /** Whether the trace of a caller with this address is continued. */
  readonly isTrustedCaller: IsTrustedProxy
  readonly ratio: number
  /** A number from 0 to below 1, another one each time. */
  readonly chance: () => number
}

/** What is done for a request, and the span of the trusted caller that it is part of. */
export interface RequestWork {
  readonly work: WorkContext
  readonly callerSpanId: string | undefined
}

/**
 * The request's work. It is in the trace of a trusted caller, who decides whether it is recorded. Otherwise it begins a
 * trace, and chance decides: neither its id nor a flag that the caller sends has a part in it.
 */
export function requestWork(input: HttpInput, sampling: RequestSampling): RequestWork {
  const requestId = input.header('x-openstack-request-id')
  const given = input.header('traceparent')
  const traceparent = given === undefined ? undefined : trustedTrace(given, input, sampling)
  if (traceparent === undefined) {
    const isChosen = spanMeasure.isOn && sampling.chance() < sampling.ratio
    return { work: workContext({ requestId, isSampled: isChosen }), callerSpanId: undefined }
  }
  const isRecorded = spanMeasure.isOn && isSampled(traceparent)
  const own = isRecorded ? childTraceparent(traceparent) : traceparent
  return { work: workContext({ requestId, traceparent: own }), callerSpanId: spanIdOf(traceparent) }
}

function trustedTrace(
  given: string,
  input: HttpInput,
  { isTrustedProxy, isTrustedCaller }: RequestSampling,
): string | undefined {
  return isTrustedCaller(callerAddress(input, isTrustedProxy)) ? parseTraceparent(given) : undefined
}

/** A request that was answered. */
export interface AnsweredRequest {
  readonly method: string
  /** The path as the document has it. */
  readonly route: string
  readonly status: number
  readonly microversion: string
}

const SERVER_ERROR = 500

/** Afterwards the span of an answered request is on its way, where the request is traced. */
export function recordRequest(
  { work, callerSpanId }: RequestWork,
  c: Context,
  { method, route, status, microversion }: AnsweredRequest,
  startedAt: number,
): void {
  if (!isTraced(work)) return
  const hasFailed = status >= SERVER_ERROR
  spanMeasure.report({
    traceparent: work.traceparent,
    parentId: callerSpanId,
    name: `${method} ${route}`,
    kind: 'server',
    startedAt,
    endedAt: performance.now(),
    attributes: {
      'http.request.method': method,
      'http.route': route,
      'http.response.status_code': status,
      'url.path': c.req.path,
      'weir.request_id': work.requestId,
      'weir.microversion': microversion === '' ? undefined : microversion,
      'error.type': hasFailed ? String(status) : undefined,
    },
    error: hasFailed ? `Answered ${status}.` : undefined,
  })
}
