import { Failure } from '#common/errors.ts'
import type { ActNamed } from '#openapi/wire/act.ts'
import { queueFeedRow } from '../../db/feed.ts'
import { release } from '../../placement/release.ts'
import { resourcesOf } from '../../placement/resources.ts'
import { noHostReason } from '../../scheduler/trace.ts'
import { claimCandidate } from '../claim-candidate.ts'
import { decide, neighboursOf } from '../decide.ts'
import type { ActEffects } from './act-effects.ts'

/** Afterwards the host has its room back, and the server is in its image only. */
export const shelveOffloadEffects: ActEffects<ActNamed<'shelve-offload'>> = {
  done: async (tx, { instance }) => {
    await release(tx, instance.id)
    return { placed: null }
  },
}

/** A server that is on no host is placed again, on any host of the cell; one that is still on its host stays there. */
export const unshelveEffects: ActEffects<ActNamed<'unshelve'>> = {
  begin: async (tx, { deps, operation, instance, act }) => {
    if (instance.placed !== null) return {}
    const { serverId, attempt } = operation
    const neighbours = await neighboursOf(tx, act.build)
    const decision = decide(deps, act.build, { triedHosts: new Set(), neighbours })
    const candidates = decision.selection.hosts.map(({ hostId }) => hostId)
    const { placed, lost } = await claimCandidate(tx, deps, candidates, {
      consumer: serverId,
      resources: resourcesOf(act.build),
      group: act.build.group,
    })
    if (placed === undefined) throw new Failure('no-capacity', noHostReason(decision.selection))
    const trace = decision.trace({ lostClaims: lost, chosen: placed.host })
    queueFeedRow(tx, [{ kind: 'trace', serverId, attempt, trace }])
    return { placed }
  },
  done: async (_tx, { at }) => ({ launchedAt: at }),
  failed: async (tx, { instance }) => {
    if (instance.placed !== null) return {}
    await release(tx, instance.id)
    return { placed: null }
  },
  takeBack: () => ({ name: 'shelve-offload' }),
}
