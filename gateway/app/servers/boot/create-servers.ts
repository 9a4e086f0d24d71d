import type { Executor } from '#common/db/database.ts'
import { Failure, isFailure } from '#common/errors.ts'
import type { FlavorSnapshot } from '#openapi/wire/instance.ts'
import type { CreatedServers, IdempotencyKey } from '../../../db/idempotency-keys.ts'
import { usagesOf } from '../../../db/quota-usages.ts'
import { type ProjectUser, userLimits } from '../../../db/user-quota-limits.ts'
import { usagesOfUser } from '../../../db/user-usages.ts'
import { NetworkPlacedElsewhere } from '../../cells/tunnels.ts'
import { flavorForBoot } from '../../flavors/flavors.ts'
import { findEarlierResult } from '../../once-per-key.ts'
import { PlacedMeanwhile } from '../../placement-policies/placement-promise.ts'
import { quotaLimits } from '../../quotas/quota-limits.ts'
import { UNLIMITED } from '../../quotas/resources.ts'
import type { RequestContext } from '../../request-context.ts'
import { GroupPlacedElsewhere } from '../../server-groups/members.ts'
import { newPassword } from '../acts/new-password.ts'
import { serverIds } from '../list/server-order.ts'
import type { Boot } from './boot.ts'
import { HeldRoom } from './held-room.ts'
import { keptHints } from './hints.ts'
import { planServers } from './plan-servers.ts'
import { refuseDisks } from './requested-disks.ts'
import type { ServerRequest } from './server-request.ts'
import { startServers } from './start-servers.ts'

/** The answer to a request whose servers were accepted. */
export interface AcceptedServers {
  readonly serverIds: readonly string[]
  readonly reservationId: string
  /** Null where the request is a repeat: only the first answer has the password. */
  readonly adminPassword: string | null
  readonly securityGroups: readonly string[]
}

/** Each try plans for what fits now; others may take it meanwhile. */
const TRIES_MAX = 10
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
): Promise<AcceptedServers> {
  const { projectId } = context
  if (projectId === null)
    throw new Failure('forbidden', 'This request needs a token that is scoped to a project.')
  const first = await repeated(boot, key, request)
  if (first !== undefined) return first
  refuseDisks(request)
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
): Promise<AcceptedServers> {
  const adminPassword = request.adminPassword ?? newPassword()
  let count = await wantedCount(boot, context, request)
  for (let tries = 1; ; tries += 1) {
    using room = new HeldRoom(boot.compute)
    const planned = await planServers(boot, context, request, { count, room })
    const hints = keptHints(request.hints)
    const { userData, files } = request
    const order = { ...planned, hints, userData, files, adminPassword, key }
    try {
      await startServers(boot.compute, context, order, room)
      const { reservationId } = order.servers[0]!.row
      const { securityGroups } = order.nics
      return { serverIds: serverIds(order), reservationId, adminPassword, securityGroups }
    } catch (error) {
      // Others chose the cell of the group or network meanwhile, or filled it: the next plan knows that.
      if (isPlacedElsewhere(error) && tries < TRIES_MAX) continue
      if (!isFailure(error, 'over-quota') || count === request.minCount) throw error
      const { flavor } = order.servers[0]!.row
      const fitting = await fittingCount(boot.compute.db, context, flavor)
      if (fitting < request.minCount || tries === TRIES_MAX) throw error
      count = Math.min(fitting, count)
    }
  }
}

function isPlacedElsewhere(error: unknown): boolean {
  return (
    error instanceof GroupPlacedElsewhere ||
    error instanceof NetworkPlacedElsewhere ||
    error instanceof PlacedMeanwhile
  )
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
): Promise<AcceptedServers | undefined> {
  const first = await findEarlierResult<CreatedServers>(compute.db, key)
  if (first === undefined) return undefined
  const { serverIds: ids, reservationId } = first
  const securityGroups = request.securityGroups.length === 0 ? ['default'] : request.securityGroups
  return { serverIds: ids, reservationId, adminPassword: null, securityGroups }
}

type Amounts = ReadonlyMap<string, number>

/** How many more servers of this flavor the quota of project and user has room for at present. */
async function fittingCount(
  db: Executor,
  owner: ProjectUser,
  flavor: FlavorSnapshot,
): Promise<number> {
  const { projectId } = owner
  const [limits, usages, own] = await Promise.all([
    quotaLimits(db, projectId),
    usagesOf(db, projectId),
    userLimits(db, owner),
  ])
  const inProject = roomFor(new Map(Object.entries(limits)), usages, flavor)
  if (own.size === 0) return inProject
  return Math.min(inProject, roomFor(own, await usagesOfUser(db, owner), flavor))
}

function roomFor(limits: Amounts, usages: Amounts, flavor: FlavorSnapshot): number {
  const room = (resource: 'instances' | 'cores' | 'ram', each: number) => {
    const limit = limits.get(resource) ?? UNLIMITED
    if (limit === UNLIMITED) return Number.POSITIVE_INFINITY
    return Math.max(Math.floor((limit - (usages.get(resource) ?? 0)) / each), 0)
  }
  return Math.min(room('instances', 1), room('cores', flavor.vcpus), room('ram', flavor.memoryMb))
}
