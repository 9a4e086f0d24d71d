import type { Tx } from '#common/db/database.ts'
import { FastPathFailed, type LocalStep } from '#common/saga/saga.ts'
import { POWER_STATES, type VmState } from '#common/states/instance-states.ts'
import { queueOwnInstance, updateOwnInstance } from '../../../db/instances.ts'
import { queueActionEnd } from '../../action-event.ts'
import type { Conductor } from '../../conductor.ts'
import type { Instance } from '../../instance.ts'
import { building } from './building.ts'
import { ACTIVATE, type Ended, latest } from './outputs.ts'
import type { BootCall, BootParams } from './params.ts'

/**
 * Afterwards the server is active, or as it was where it was adopted, its build is erased, and the gateways receive
 * its state.
 */
export const activate: LocalStep<Conductor, BootParams> = {
  kind: 'local',
  name: ACTIVATE,
  when: (call) => latest(call).spawned?.outcome === 'running',
  run: async (tx, call) => {
    const to = active(call)
    // A delete that took it brings it to its end.
    if (!(await updateOwnInstance(tx, call.sagaId, { to }))) return { outcome: 'taken' }
    return queueBuildEnd(tx, call, to)
  },
  fastPath: (tx, call) => {
    const to = active(call)
    queueOwnInstance(tx, call.sagaId, { to }, () => new FastPathFailed())
    return queueBuildEnd(tx, call, to)
  },
  forwardOnly: true,
  undo: 'none',
}

function active(call: BootCall): Instance {
  const { deps, params, sagaId } = call
  const { claimed, spawned } = latest(call)
  if (claimed.outcome !== 'claimed' || spawned?.outcome !== 'running')
    throw new Error('Only a server that runs can be made active')
  return {
    ...building(params, claimed.placed, claimed.version + 1, sagaId),
    vmState: stateOf(spawned.powerState),
    taskState: null,
    powerState: spawned.powerState,
    machineNics: spawned.machineNics ?? null,
    launchedAt: deps.clock.now(),
    sagaId: null,
  }
}

function queueBuildEnd(tx: Tx, { deps, params, work }: BootCall, to: Instance): Ended {
  queueActionEnd(tx, deps, to, {
    work,
    event: 'build',
    startedAt: params.startedAt,
    finishedAt: deps.clock.now(),
    host: to.placed?.host ?? null,
  })
  return { outcome: 'ended' }
}

/** A guest that was built runs; one that was adopted, or has recovered by itself, may be off or paused. */
export function stateOf(powerState: number): VmState {
  if (powerState === POWER_STATES.running) return 'active'
  return powerState === POWER_STATES.paused ? 'paused' : 'stopped'
}
