import { Failure, isFailure } from '#common/errors.ts'
import type { IdempotencyKey, MadeServers } from '../../../db/idempotency-keys.ts'
import { flavorForBoot } from '../../flavors/flavors.ts'
import { madeBefore } from '../../once-per-key.ts'
import type { RequestContext } from '../../request-context.ts'
import { GroupPlacedElsewhere } from '../../server-groups/members.ts'
import { newPassword } from '../acts/new-password.ts'
import { serverIds } from '../list/server-order.ts'
import type { Boot } from './boot.ts'
import { fittingCount } from './fitting-count.ts'
import { keptHints } from './kept-hints.ts'
import { planServers } from './plan-servers.ts'
import { refuseUnsupported } from './refuse-unsupported.ts'
import type { ServerRequest } from './server-request.ts'
import { startServers } from './start-servers.ts'

/** The answer to a request whose servers were accepted. */
export interface PromisedServers {
  readonly serverIds: readonly string[]
  readonly reservationId: string
  /** Null where the request is a repeat: only the first answer has the password. */
  readonly adminPassword: string | null
  readonly securityGroups: readonly string[]
}

/** Each try plans for what fits now; others may take it meanwhile. */
const TRIES_MAX = 3
/** Of one request: they commit together, and a transaction must stay short. */
const SERVERS_MAX = 500

/**
 * Promises as many servers as asked for, or as many as the quota leaves, but not fewer than the least asked for. A
 * repeat under the same idempotency key returns the servers of the first request, and makes nothing.
 */
export async function createServers(
  boot: Boot,
  context: RequestContext,
  request: ServerRequest,
  key: IdempotencyKey | null,
): Promise<PromisedServers> {
  const { projectId } = context
  if (projectId === null) throw new Failure('forbidden', 'This needs a token for a project.')
  const first = await repeated(boot, key, request)
  if (first !== undefined) return first
  refuseUnsupported(request)
  if (request.minCount > request.maxCount)
    throw new Failure('invalid', 'min_count must be <= max_count')
  if (request.hostname !== null && request.maxCount > 1)
    throw new Failure('invalid', 'Unable to allocate a single hostname to multiple instances')
  try {
    return await accept(boot, { ...context, projectId }, request, key)
  } catch (error) {
    // The same request may have come twice at once, and the other one won.
    const other = isFailure(error, 'conflict') ? await repeated(boot, key, request) : undefined
    if (other === undefined) throw error
    return other
  }
}

async function accept(
  boot: Boot,
  context: RequestContext & { readonly projectId: string },
  request: ServerRequest,
  key: IdempotencyKey | null,
): Promise<PromisedServers> {
  const adminPassword = request.adminPassword ?? newPassword()
  let count = await wantedCount(boot, context, request)
  for (let tries = 1; ; tries += 1) {
    const planned = await planServers(boot, context, request, count)
    const hints = keptHints(request.hints)
    const { userData, files } = request
    const order = { ...planned, hints, userData, files, adminPassword, key }
    try {
      await startServers(boot.compute, context, order)
      const { reservationId } = order.servers[0]!.row
      const { securityGroups } = order.nics
      return { serverIds: serverIds(order), reservationId, adminPassword, securityGroups }
    } catch (error) {
      // Others chose the group's cell meanwhile: the next plan goes there.
      if (error instanceof GroupPlacedElsewhere && tries < TRIES_MAX) continue
      if (!isFailure(error, 'over-quota') || count === request.minCount) throw error
      const { flavor } = order.servers[0]!.row
      const fitting = await fittingCount(boot.compute.db, context, flavor)
      if (fitting < request.minCount || tries === TRIES_MAX) throw error
      count = Math.min(fitting, count)
    }
  }
}

/** As many as the quota seems to leave room for; one server is simply tried. */
async function wantedCount(
  { compute }: Boot,
  context: RequestContext & { readonly projectId: string },
  { flavorRef, minCount, maxCount }: ServerRequest,
): Promise<number> {
  if (maxCount === 1) return 1
  if (maxCount > SERVERS_MAX)
    throw new Failure('invalid', `max_count must be at most ${SERVERS_MAX}.`)
  const flavor = await flavorForBoot(compute.db, context, flavorRef)
  const fitting = await fittingCount(compute.db, context, flavor)
  return Math.min(maxCount, Math.max(fitting, minCount))
}

async function repeated(
  { compute }: Boot,
  key: IdempotencyKey | null,
  request: ServerRequest,
): Promise<PromisedServers | undefined> {
  const first = await madeBefore<MadeServers>(compute.db, key)
  if (first === undefined) return undefined
  const { serverIds: ids, reservationId } = first
  const securityGroups = request.securityGroups.length === 0 ? ['default'] : request.securityGroups
  return { serverIds: ids, reservationId, adminPassword: null, securityGroups }
}
