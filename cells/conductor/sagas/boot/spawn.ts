import { type InstanceId, newId } from '#common/ids.ts'
import type { RemoteStep } from '#common/saga/saga.ts'
import { POWER_STATES } from '#common/states/instance-states.ts'
import { findOwner } from '../../../db/instances.ts'
import { type HostOutcome, reasonOf, workOnHost } from '../../ask-host.ts'
import type { Conductor } from '../../conductor.ts'
import { destroyOnHost } from '../../destroy-on-host.ts'
import { claimOf, type Spawned, spawnOf, spawnStep } from './outputs.ts'
import type { BootCall, BootParams } from './params.ts'

/** Afterwards the server runs on the host of the nth claim, or the host has nothing of the server. */
export function spawn(nth: number): RemoteStep<Conductor, BootParams> {
  return {
    kind: 'remote',
    name: spawnStep(nth),
    when: (call) => claimOf(call, nth)?.outcome === 'claimed',
    run: (call, signal) => askToSpawn(call, nth, signal),
    undo: async (call, signal) => {
      const claimed = claimOf(call, nth)
      if (claimed?.outcome !== 'claimed' || spawnOf(call, nth)?.outcome === 'failed') return
      const operation = { ...call.params.operation, id: newId() }
      const { hostId } = claimed.placed
      await destroyOnHost(call.deps, { host: hostId, operation, work: call.work, signal })
    },
  }
}

async function askToSpawn(call: BootCall, nth: number, signal: AbortSignal): Promise<Spawned> {
  const { deps, params, work, sagaId } = call
  const claimed = claimOf(call, nth)
  const { serverId, attempt } = params.operation
  const server = { id: serverId as InstanceId, attempt }
  const build = await deps.builds.get(deps.db, server)
  if (claimed?.outcome !== 'claimed' || build === undefined) return { outcome: 'unwanted' }
  const outcome = await workOnHost(deps, {
    host: claimed.placed.hostId,
    operation: 'spawn',
    payload: { operation: params.operation, build },
    work,
    signal,
    isWanted: async () => (await findOwner(deps.db, server)) === sagaId,
  })
  return spawned(outcome)
}

function spawned(outcome: HostOutcome): Spawned {
  switch (outcome.state) {
    case 'done':
      return {
        outcome: 'running',
        powerState: outcome.powerState ?? POWER_STATES.running,
        ...(outcome.machineNics && { machineNics: outcome.machineNics }),
      }
    case 'failed':
      // An invalid request is invalid on every host.
      return {
        outcome: 'failed',
        reason: reasonOf(outcome),
        isFinal: outcome.kind === 'invalid',
      }
    case 'stale':
      return { outcome: 'failed', reason: 'The host knows that it is over.', isFinal: true }
    case 'fenced':
      return { outcome: 'failed', reason: 'The host was declared down.', isFinal: false }
    case 'unwanted':
      return { outcome: 'unwanted' }
  }
}
