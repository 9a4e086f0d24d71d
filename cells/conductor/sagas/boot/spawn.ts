import { type HostId, type InstanceId, newId } from '#common/ids.ts'
import type { RemoteStep } from '#common/saga/saga.ts'
import { POWER_STATES } from '#common/states/instance-states.ts'
import type { MachineNic } from '#openapi/wire/instance.ts'
import { findOwner, noteMachineNics } from '../../../db/instances.ts'
import { touchNetworkState } from '../../../db/network-objects.ts'
import { portsNotUp } from '../../../db/port-bindings.ts'
import { type HostOutcome, reasonOf, workOnHost } from '../../ask-host.ts'
import type { Conductor } from '../../conductor.ts'
import { destroyOnHost } from '../../destroy-on-host.ts'
import { buildOnNodes } from '../../on-nodes.ts'
import { claimOf, type Spawned, spawnOf, spawnStep } from './outputs.ts'
import type { BootCall, BootParams } from './params.ts'

const PAUSE_FIRST_MS = 10
const PAUSE_MAX_MS = 250
const MS_PER_S = 1_000
/** Nova's words (nova/compute/manager.py, `_build_and_run_instance`). */
const NOT_PLUGGED = 'Failed to allocate the network(s), not rescheduling.'

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
    payload: { operation: params.operation, build: buildOnNodes(build, claimed.placed) },
    work,
    signal,
    isWanted: async () => (await findOwner(deps.db, server)) === sagaId,
  })
  recordOutcome(deps, claimed.placed.hostId, outcome)
  // A guest that is adopted runs with the NICs that it has: it is not given up for them.
  const isNew = outcome.state === 'done' && isRunning(outcome) && build.adopts !== true
  if (!isNew || !deps.hosts.isJoinedByOvn(claimed.placed.hostId)) return spawned(outcome)
  if (outcome.machineNics !== undefined && !(await noteNics(call, outcome.machineNics)))
    return { outcome: 'unwanted' }
  const nics = build.nics.map(({ portId }) => portId)
  return untilPortsUp(call, claimed.placed, { nics, running: spawned(outcome) }, signal)
}

/** An invalid request says nothing about the host that refused it. */
function recordOutcome({ hosts }: Conductor, hostId: HostId, outcome: HostOutcome): void {
  if (outcome.state === 'done') hosts.recordBuild(hostId, true)
  if (outcome.state === 'failed' && outcome.kind !== 'invalid') hosts.recordBuild(hostId, false)
}

/** Afterwards the cell's network engine answers for the NICs of the machine; false when a delete has the instance. */
async function noteNics({ deps, params, sagaId }: BootCall, nics: readonly MachineNic[]) {
  const { serverId, attempt } = params.operation
  return deps.db.transaction(async (tx) => {
    await touchNetworkState(tx)
    return noteMachineNics(tx, sagaId, { id: serverId as InstanceId, attempt }, nics)
  })
}

function isRunning({ powerState }: { readonly powerState?: number }): boolean {
  return (powerState ?? POWER_STATES.running) === POWER_STATES.running
}

/**
 * What the spawn came to once the ports of the running guest work, as Nova waits for `network-vif-plugged`; where they
 * do not in time, once nothing of the guest is left.
 */
async function untilPortsUp(
  { deps, params, work, sagaId }: BootCall,
  { hostId, host }: { readonly hostId: HostId; readonly host: string },
  { nics, running }: { readonly nics: readonly string[]; readonly running: Spawned },
  signal: AbortSignal,
): Promise<Spawned> {
  const { serverId, attempt } = params.operation
  const server = { id: serverId as InstanceId, attempt }
  const until = deps.clock.elapsed() + deps.portsUpTimeoutMs
  for (let pauseMs = PAUSE_FIRST_MS; ; pauseMs = Math.min(2 * pauseMs, PAUSE_MAX_MS)) {
    const missing = await portsNotUp(deps.db, nics)
    if (missing.length === 0 || deps.portsUpTimeoutMs === 0) return running
    if ((await findOwner(deps.db, server)) !== sagaId) return { outcome: 'unwanted' }
    if (deps.clock.elapsed() >= until) {
      const operation = { ...params.operation, id: newId() }
      await destroyOnHost(deps, { host: hostId, operation, work, signal })
      const after = `after ${deps.portsUpTimeoutMs / MS_PER_S} s on host ${host}`
      const reason = `${NOT_PLUGGED} Ports that did not come up ${after}: ${missing.join(', ')}.`
      return { outcome: 'failed', reason, isFinal: true }
    }
    await deps.clock.sleep(pauseMs, signal)
  }
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
