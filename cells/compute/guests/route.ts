import { Failure } from '#common/errors.ts'
import type { HostRouting, RoutingProblem } from '#openapi/wire/routing.ts'
import type { Compute } from '../compute.ts'

const TIMEOUT_MS = 60_000

/**
 * Afterwards the backend routes the host's guests so, but for the problems in the answer. It goes on after the cell has stopped
 * waiting, and a repeat then finds what is done.
 */
export async function route(
  { driver }: Compute,
  wanted: HostRouting,
): Promise<{ problems: RoutingProblem[] }> {
  if (driver.routing === undefined)
    throw new Failure('unsupported', `Driver '${driver.name}' has no routers of its own.`)
  return { problems: [...(await driver.routing.apply(wanted, AbortSignal.timeout(TIMEOUT_MS)))] }
}
