import type { Tx } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import { newId } from '#common/ids.ts'
import type { InstanceBuild } from '#openapi/wire/instance.ts'
import { queueFeedRow } from '../../db/feed.ts'
import { joinGroup, leaveGroup } from '../../placement/group.ts'
import { nodeWish } from '../../placement/node-wish.ts'
import { release } from '../../placement/release.ts'
import { resourcesOf } from '../../placement/resources.ts'
import { transfer } from '../../placement/transfer.ts'
import type { HostFilter } from '../../scheduler/filter.ts'
import { noHostReason } from '../../scheduler/trace.ts'
import { claimCandidate } from '../claim-candidate.ts'
import { decide, neighboursOf } from '../decide.ts'
import type { PlacedOn } from '../instance.ts'
import type { Moving, Places } from './move.ts'
import { buildOf, sourceOf } from './moved.ts'

/**
 * Afterwards the server holds room on another host, with the same driver, and its migration holds what the server
 * had. Throws `no-capacity` when no other host fits.
 */
export async function claimDestination(tx: Tx, moving: Moving): Promise<Places> {
  const { deps, operation, order } = moving
  const build = buildOf(moving)
  const source = sourceOf(moving)
  const { serverId, attempt } = operation
  const { group } = build
  if (group !== undefined)
    await leaveGroup(tx, serverId, { groupId: group.id, hostId: source.hostId })
  const neighbours = await neighboursOf(tx, build)
  const filters = [...deps.scheduling.filters, moveFilter(moving, source)]
  const decision = decide({ ...deps, scheduling: { ...deps.scheduling, filters } }, build, {
    triedHosts: new Set([source.hostId]),
    neighbours,
  })
  const candidates = decision.selection.hosts.map(({ hostId }) => hostId)
  await transfer(tx, serverId, order.migrationId)
  const [resources, nodes] = [resourcesOf(build), nodeWish(build)]
  const claimant = { consumer: serverId, resources, nodes, group }
  const { placed, lost } = await claimCandidate(tx, deps, candidates, claimant)
  if (placed === undefined) throw new Failure('no-capacity', noHostReason(decision.selection))
  const trace = decision.trace({ lostClaims: lost, chosen: placed.host })
  queueFeedRow(tx, [{ kind: 'trace', serverId, attempt, trace }])
  return { source: { ...source }, dest: { ...placed } }
}

/**
 * Refuses hosts that cannot take a guest from the other: only hosts of one driver understand what the other has of it. It
 * runs at every move, whichever filters operators choose.
 */
function moveFilter({ deps: { hosts }, name }: Moving, source: PlacedOn): HostFilter {
  const driver = hosts.get(source.hostId)?.driver
  const [capability, guests] =
    name === 'live-migrate'
      ? (['liveMove', 'guests that run'] as const)
      : (['move', 'guests'] as const)
  return {
    name: 'MoveFilter',
    refuse: ({ hostId }) => {
      const host = hosts.get(hostId)
      if (host === undefined) return 'is not known any more'
      if (host.driver !== driver)
        return `is of the driver ${host.driver}, the server is on one of ${driver ?? 'none'}`
      return host.capabilities.includes(capability)
        ? undefined
        : `takes no ${guests} from other hosts`
    },
  }
}

/** Afterwards the server holds on its former host what it held there, and nothing on the other. */
export async function revertClaims(
  tx: Tx,
  { operation, order }: Moving,
  build: InstanceBuild,
  { source, dest }: Places,
): Promise<void> {
  const { serverId } = operation
  const { group } = build
  if (group !== undefined)
    await leaveGroup(tx, serverId, { groupId: group.id, hostId: dest.hostId })
  const outgoing = newId<string>()
  await transfer(tx, serverId, outgoing)
  await transfer(tx, order.migrationId, serverId)
  await release(tx, outgoing)
  // The server is still counted on its host, so servers that came meanwhile cannot keep it out.
  if (group !== undefined)
    await joinGroup(tx, { ...group, policy: 'soft-affinity' }, source.hostId, serverId)
}
