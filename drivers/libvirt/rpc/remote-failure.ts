import { type ErrorKind, Failure, isFailure } from '#common/errors.ts'
import type { XdrReader } from './xdr-reader.ts'

/** OPERATION_TIMEOUT: another job holds the domain. */
const TIMED_OUT = 68

/** libvirt's virErrorNumber (include/libvirt/virterror.h), as far as callers tell them apart. */
const KIND_OF_CODE: Readonly<Record<number, ErrorKind>> = {
  3: 'unsupported', // NO_SUPPORT
  5: 'unavailable', // NO_CONNECT
  28: 'conflict', // DOM_EXIST
  37: 'conflict', // NETWORK_EXIST
  39: 'unavailable', // RPC
  42: 'not-found', // NO_DOMAIN
  43: 'not-found', // NO_NETWORK
  49: 'not-found', // NO_STORAGE_POOL
  53: 'not-found', // NO_NODE_DEVICE
  55: 'conflict', // OPERATION_INVALID: not possible in the present state
  62: 'not-found', // NO_NWFILTER
  67: 'unsupported', // CONFIG_UNSUPPORTED
  [TIMED_OUT]: 'unavailable',
  74: 'unsupported', // ARGUMENT_UNSUPPORTED
  78: 'conflict', // OPERATION_ABORTED
  80: 'not-found', // NO_DOMAIN_METADATA
  86: 'conflict', // AGENT_UNRESPONSIVE
  97: 'conflict', // AGENT_UNSYNCED
  99: 'not-found', // DEVICE_MISSING
  103: 'not-found', // NO_DOMAIN_CHECKPOINT
  111: 'conflict', // AGENT_COMMAND_TIMEOUT
  112: 'conflict', // AGENT_COMMAND_FAILED
}

/** The failure for an error answer. libvirt's text may name paths and commands, so it is detail only. */
export function remoteFailure(procedure: number, answer: XdrReader): Failure {
  const code = answer.int()
  const domain = answer.int()
  const message = answer.optionalText() ?? 'no message'
  return new Failure(KIND_OF_CODE[code] ?? 'internal', 'The hypervisor refused the request.', {
    detail: `libvirt error ${code} of ${domain} at procedure ${procedure}: ${message}`,
  })
}

/** True where libvirt has waited in vain for the end of another job of the domain. */
export function isHeldByJob(error: unknown): boolean {
  return isFailure(error) && error.detail?.startsWith(`libvirt error ${TIMED_OUT} `) === true
}
