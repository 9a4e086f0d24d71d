import type { Tx } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import type { HostId, InstanceId } from '#common/ids.ts'
import { FastPathFailed, type LocalStep } from '#common/saga/saga.ts'
import { queueInstance } from '../../../db/instances.ts'
import {
  chooseNodes,
  freeOfNodes,
  nodeResources,
  withNodes,
} from '../../../placement/choose-nodes.ts'
import { queueClaim } from '../../../placement/claim.ts'
import { queueJoinGroup } from '../../../placement/group.ts'
import { amountsOf } from '../../../placement/resources.ts'
import { claimCandidate, instancesAllowedOn, isTooLarge } from '../../claim-candidate.ts'
import type { Conductor } from '../../conductor.ts'
import type { PlacedOn } from '../../instance.ts'
import { building } from './building.ts'
import { giveUp } from './give-up.ts'
import { type Claimed, claimStep } from './outputs.ts'
import type { BootCall, BootParams } from './params.ts'

/** Afterwards the server is in this cell, on the first candidate that still had room. */
export const claimFirst: LocalStep<Conductor, BootParams> = {
  kind: 'local',
  name: claimStep(1),
  run: claimOneOf,
  fastPath: claimBest,
  undo: async (tx, call) => {
    await giveUp(tx, call, 'The build ended unexpectedly.')
  },
}

/** Throws `no-capacity` when every candidate has filled up. */
async function claimOneOf(tx: Tx, call: BootCall): Promise<Claimed> {
  const { deps, params } = call
  const { operation, resources, nodes = null, group, candidates } = params
  const claimant = { consumer: operation.serverId, resources, nodes, group }
  const { placed, lost } = await claimCandidate(tx, deps, candidates, claimant)
  if (placed === undefined)
    throw new Failure(
      'no-capacity',
      'No valid host was found: every host filled up while it was claimed.',
    )
  return insertOn(tx, call, placed, lost)
}

/** The best candidate mostly has room, and its group mostly allows it. */
function claimBest(tx: Tx, call: BootCall): Claimed {
  const { operation, group, candidates } = call.params
  const [best] = candidates
  const placed = best === undefined ? undefined : call.deps.hosts.placedOn(best)
  if (placed === undefined) throw new FastPathFailed()
  if (isTooLarge(call.deps.hosts.get(placed.hostId), call.params.resources))
    throw new FastPathFailed()
  const { resources, ...chosen } = onNodes(call, placed.hostId)
  const claimed = insertOn(tx, call, { ...placed, ...chosen }, [])
  const instancesMax = instancesAllowedOn(call.deps, placed.hostId)
  const otherwise = () => new FastPathFailed()
  const { serverId: consumer } = operation
  if (group !== undefined) queueJoinGroup(tx, group, placed.hostId, { consumer, otherwise })
  queueClaim(tx, placed.hostId, consumer, resources, { otherwise, instancesMax })
  return claimed
}

/**
 * What is claimed, with the nodes that seem to have it, if the server is to be on some; the claim fails where they have it no
 * longer.
 */
function onNodes({ deps: { hosts }, params }: BootCall, hostId: HostId) {
  const { resources, nodes } = params
  const held = amountsOf(resources)
  const state = hosts.state(hostId)
  if (nodes === undefined || state === undefined || state.countedNodes.length === 0)
    return { resources, held }
  const numa = chooseNodes(nodes, freeOfNodes(state.countedNodes, state))
  if (numa === undefined) throw new FastPathFailed()
  hosts.reserveNodes(hostId, nodeResources(numa))
  return { resources: withNodes(resources, numa), numa, held }
}

function insertOn(tx: Tx, call: BootCall, placed: PlacedOn, lost: readonly string[]): Claimed {
  const { deps, params, sagaId } = call
  const { serverId, attempt } = params.operation
  const sealed = deps.builds.sealed({ id: serverId as InstanceId, attempt })
  queueInstance(tx, building(params, placed, 1, sagaId), sealed)
  return { outcome: 'claimed', placed: { ...placed }, version: 1, lost }
}
