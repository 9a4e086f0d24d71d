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
  const decision = decide(deps, build, { triedHosts: new Set([source.hostId]), neighbours })
  const candidates = decision.selection.hosts
    .map(({ hostId }) => hostId)
    .filter((hostId) => takesFrom(moving, source, hostId))
  await transfer(tx, serverId, order.migrationId)
  const [resources, nodes] = [resourcesOf(build), nodeWish(build)]
  const claimant = { consumer: serverId, resources, nodes, group }
  const { placed, lost } = await claimCandidate(tx, deps, candidates, claimant)
  if (placed === undefined) throw new Failure('no-capacity', noHostReason(decision.selection))
  const trace = decision.trace({ lostClaims: lost, chosen: placed.host })
  queueFeedRow(tx, [{ kind: 'trace', serverId, attempt, trace }])
  return { source: { ...source }, dest: { ...placed } }
}

/** Only hosts of one driver understand what the other has of a guest. */
function takesFrom(
  { deps: { hosts }, name }: Moving,
  source: PlacedOn,
  hostId: PlacedOn['hostId'],
): boolean {
  const host = hosts.get(hostId)
  if (host === undefined || host.driver !== hosts.get(source.hostId)?.driver) return false
  return host.capabilities.includes(name === 'live-migrate' ? 'liveMove' : 'move')
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
