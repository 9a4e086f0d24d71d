import { Failure } from '#common/errors.ts'
import { refuseDisks } from './requested-disks.ts'
import type { ServerRequest } from './server-request.ts'

/**
 * Hints that promise something about where a server runs; any other is ignored, as in Nova: `query`, too, which there
 * needs a filter that is off by default.
 */
const UNSUPPORTED_HINTS = ['build_near_host_ip', 'target_cell', 'different_cell'] as const

/** Throws `invalid` for a request that could not be met as it is: no server is better than one that is not what was asked for. */
export function refuseUnsupported(request: ServerRequest): void {
  const hint = UNSUPPORTED_HINTS.find((name) => request.hints[name] !== undefined)
  if (hint !== undefined) refuse(`Scheduler hint '${hint}' is not supported.`)
  refuseDisks(request)
  if (request.imageRef === null)
    refuse('Invalid imageRef provided. Servers boot from an image only.')
}

function refuse(message: string): never {
  throw new Failure('invalid', message)
}
