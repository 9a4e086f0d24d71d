import type { Tx } from '#common/db/database.ts'
import type { InstanceId } from '#common/ids.ts'
import type { LocalStep } from '#common/saga/saga.ts'
import type { Trace } from '#openapi/wire/trace.ts'
import { queueFeedRow } from '../../../db/feed.ts'
import { lockOwnInstance, updateOwnInstance } from '../../../db/instances.ts'
import { recordTrace } from '../../../db/operations.ts'
import { release } from '../../../placement/release.ts'
import { noHostReason } from '../../../scheduler/trace.ts'
import { claimCandidate } from '../../claim-candidate.ts'
import type { Conductor } from '../../conductor.ts'
import { decide, neighboursOf } from '../../decide.ts'
import { instanceView } from '../../instance.ts'
import { building } from './building.ts'
import {
  type Claimed,
  claimOf,
  claimStep,
  mayTryAgain,
  refusalsBefore,
  triedHosts,
} from './outputs.ts'
import type { BootCall, BootParams } from './params.ts'

/** Afterwards the server is claimed on a host that has not been tried yet, and on that one only. */
export function claimAlternate(nth: number): LocalStep<Conductor, BootParams> {
  return {
    kind: 'local',
    name: claimStep(nth),
    when: (call) => mayTryAgain(call, nth),
    run: (tx, call) => moveOn(tx, call, nth),
    // The undo of the first claim removes all allocations of the server.
    undo: 'none',
  }
}

async function moveOn(tx: Tx, call: BootCall, nth: number): Promise<Claimed> {
  const { deps, params, sagaId } = call
  const { serverId, attempt } = params.operation
  const id = serverId as InstanceId
  const before = claimOf(call, nth - 1)
  const build = await deps.builds.get(tx, { id, attempt })
  const isOurs = await lockOwnInstance(tx, sagaId, { id, attempt })
  if (before?.outcome !== 'claimed' || build === undefined || !isOurs)
    return { outcome: 'unwanted' }
  await release(tx, serverId)
  const decision = decide(deps, build, {
    triedHosts: triedHosts(call, nth),
    neighbours: await neighboursOf(tx, build),
  })
  const candidates = decision.selection.hosts.map(({ hostId }) => hostId)
  const { resources, nodes = null, group } = params
  const claimant = { consumer: serverId, resources, nodes, group }
  const { placed, lost } = await claimCandidate(tx, deps, candidates, claimant)
  const ended = decision.trace({ lostClaims: lost, chosen: placed?.host ?? null })
  const trace = withRefusals(ended, refusalsBefore(call, nth))
  await recordTrace(tx, { id, attempt }, trace)
  queueFeedRow(tx, [{ kind: 'trace', serverId, attempt, trace }])
  if (placed === undefined) return { outcome: 'none', reason: noHostReason(decision.selection) }
  const to = building(params, placed, before.version + 1, sagaId)
  await updateOwnInstance(tx, sagaId, { to, keepsSecrets: true })
  queueFeedRow(tx, [{ kind: 'instance', view: instanceView(to) }])
  return { outcome: 'claimed', placed: { ...placed }, version: to.version, lost }
}

/** For hosts that refused the build, the trace has their reason instead of the fact that they were tried. */
function withRefusals(trace: Trace, refusals: ReturnType<typeof refusalsBefore>): Trace {
  const filters = trace.filters.map((filter) => ({
    ...filter,
    examples: filter.examples.map(({ candidate, reason }) => {
      const refusal = refusals.get(candidate)
      return { candidate, reason: refusal === undefined ? reason : `${reason}: ${refusal.reason}` }
    }),
  }))
  return { ...trace, filters }
}
