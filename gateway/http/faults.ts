import { STATUS_CODES } from 'node:http'
import type { ErrorKind } from '#common/errors.ts'
import { Failure, isFailure } from '#common/errors.ts'
import { IdempotencyKeyReused } from '../app/idempotency-key.ts'
import { NetworkFailure } from '../app/networks/network-failure.ts'
import { RevisionMismatch } from '../app/networks/revision.ts'
import { PlacementFailure } from '../app/placement/placement-failure.ts'
import { TooManyRequests } from '../app/request-limiter.ts'
import { HttpRefusal } from './http-refusal.ts'

/** How a service words a fault; clients of each look for their own envelope. */
export type FaultStyle =
  | 'nova'
  | 'cinder'
  | 'keystone'
  | 'glance'
  | 'neutron'
  | 'placement'
  | 'problem'

export interface Fault {
  readonly status: number
  readonly body: string
  readonly contentType: string
  /** Seconds after which asking again is sensible. */
  readonly retryAfter: number | undefined
  /** True for what an operator should see in the log. */
  readonly isOurs: boolean
}

/** The only place where a kind of failure becomes an HTTP status. */
const STATUS: Readonly<Record<ErrorKind, number>> = {
  invalid: 400,
  unauthenticated: 401,
  forbidden: 403,
  // Nova's choice for quota; 413 was the v2.0 one.
  'over-quota': 403,
  'not-found': 404,
  conflict: 409,
  'too-large': 413,
  unsupported: 501,
  'no-capacity': 503,
  unavailable: 503,
  internal: 500,
}

/** Nova's and Cinder's names by status (`_fault_names` in nova/api/openstack/wsgi.py); any other is `computeFault`. */
const NOVA_NAMES: Readonly<Record<number, string>> = {
  400: 'badRequest',
  403: 'forbidden',
  404: 'itemNotFound',
  409: 'conflictingRequest',
  413: 'overLimit',
  415: 'badMediaType',
  422: 'unprocessableEntity',
  429: 'overLimit',
  501: 'notImplemented',
  503: 'serviceUnavailable',
}

/** Neutron's exception names, as far as a client could look at them. */
const NEUTRON_TYPES: Readonly<Record<number, string>> = {
  400: 'HTTPBadRequest',
  403: 'HTTPForbidden',
  404: 'HTTPNotFound',
  409: 'HTTPConflict',
  412: 'RevisionNumberConstraintFailed',
  413: 'HTTPRequestEntityTooLarge',
  501: 'HTTPNotImplemented',
  503: 'HTTPServiceUnavailable',
}

/** A database or cell that is gone is mostly back within a restart. */
const RETRY_AFTER_S = 5

const UNEXPECTED = 'Unexpected error. Please report it with the request id of this answer.'

/**
 * What leaves the process for an error: a status and the service's envelope. Never a cause or a detail. Placement's
 * envelope holds the request's id.
 */
export function faultOf(error: unknown, style: FaultStyle, requestId = ''): Fault {
  const status = statusOf(error, style)
  const message = messageOf(error)
  const retryAfter = retryAfterOf(error, status, style)
  return {
    status,
    body: JSON.stringify(
      style !== 'problem' && status === STATUS.unauthenticated
        ? unauthorized(message)
        : style === 'placement'
          ? placementErrors(error, status, message, requestId)
          : style === 'problem'
            ? problem(error, status, message, requestId)
            : envelope({
                style,
                code: status,
                message,
                type: neutronType(error, status),
                retryAfter,
              }),
    ),
    contentType: style === 'problem' ? 'application/problem+json' : 'application/json',
    retryAfter,
    // An action that a backend does not support is not an internal error.
    isOurs: status >= 500 && status !== STATUS.unsupported,
  }
}

function statusOf(error: unknown, style: FaultStyle): number {
  if (error instanceof HttpRefusal) return error.status
  if (error instanceof RevisionMismatch) return 412
  if (error instanceof TooManyRequests) return 429
  if (error instanceof IdempotencyKeyReused) return 422
  // Neutron's OverQuota is a Conflict.
  if (style === 'neutron' && isFailure(error, 'over-quota')) return STATUS.conflict
  // Glance's LimitExceeded and Cinder's QuotaError, for every kind of limit.
  if ((style === 'glance' || style === 'cinder') && isFailure(error, 'over-quota'))
    return STATUS['too-large']
  return error instanceof Failure ? STATUS[error.kind] : STATUS.internal
}

function retryAfterOf(error: unknown, status: number, style: FaultStyle): number | undefined {
  if (error instanceof HttpRefusal || error instanceof TooManyRequests) return error.retryAfterS
  // Cinder's answer to an exhausted quota.
  if (style === 'cinder' && isFailure(error, 'over-quota')) return 0
  return status === 503 ? RETRY_AFTER_S : undefined
}

function messageOf(error: unknown): string {
  const isMeantForUsers =
    error instanceof HttpRefusal || (error instanceof Failure && error.kind !== 'internal')
  return isMeantForUsers ? error.message : UNEXPECTED
}

function neutronType(error: unknown, status: number): string {
  // openstacksdk and Horizon tell an exhausted quota from other conflicts by this name.
  if (error instanceof Failure && error.kind === 'over-quota') return 'OverQuota'
  if (error instanceof NetworkFailure) return error.type
  return NEUTRON_TYPES[status] ?? 'HTTPInternalServerError'
}

function placementErrors(
  error: unknown,
  status: number,
  detail: string,
  requestId: string,
): object {
  const title = STATUS_CODES[status] ?? 'Error'
  const code = error instanceof PlacementFailure ? error.code : 'placement.undefined_code'
  return { errors: [{ status, title, detail, code, request_id: requestId }] }
}

/** RFC 9457. The type names the kind of failure, which is what a program can act on. */
function problem(error: unknown, status: number, detail: string, request_id: string): object {
  const kind = error instanceof Failure ? error.kind : `http-${status}`
  const title = STATUS_CODES[status] ?? 'Error'
  return { type: `urn:weir:problem:${kind}`, title, status, detail, request_id }
}

interface Worded {
  readonly style: Exclude<FaultStyle, 'placement' | 'problem'>
  readonly code: number
  readonly message: string
  /** For Neutron's clients. */
  readonly type: string
  readonly retryAfter: number | undefined
}

/** As keystonemiddleware words it in front of every service but Keystone, which has the same envelope. */
function unauthorized(message: string): object {
  return { error: { message, code: STATUS.unauthenticated, title: 'Unauthorized' } }
}

function envelope({ style, code, message, type, retryAfter }: Worded): object {
  switch (style) {
    case 'nova':
    case 'cinder': {
      const retry = retryAfter === undefined ? {} : { retryAfter: String(retryAfter) }
      return { [NOVA_NAMES[code] ?? 'computeFault']: { code, message, ...retry } }
    }
    case 'neutron':
      return { NeutronError: { type, message, detail: '' } }
    // Glance itself answers HTML; openstacksdk finds a message in JSON only one level deep, as Keystone has it.
    case 'glance':
    case 'keystone':
      return { error: { code, message, title: STATUS_CODES[code] ?? 'Error' } }
  }
}
