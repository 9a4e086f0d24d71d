import { type ErrorKind, Failure } from '#common/errors.ts'

/** A failure for which Neutron has a name that its clients look at: the `type` of a `NeutronError`. */
export class NetworkFailure extends Failure {
  readonly type: string

  constructor(kind: ErrorKind, type: string, message: string, cause?: Error) {
    super(kind, message, cause === undefined ? {} : { cause })
    this.type = type
  }
}

/** A contradictory request about routers or floating IPs, in the form of Neutron's BadRequest. */
export function badRequest(
  resource: 'router' | 'floatingip' | 'port_forwarding',
  why: string,
): NetworkFailure {
  return new NetworkFailure('invalid', 'BadRequest', `Bad ${resource} request: ${why}.`)
}
