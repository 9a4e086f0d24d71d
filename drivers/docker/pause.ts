import { Failure, isFailure } from '#common/errors.ts'
import type { InstanceId } from '#common/ids.ts'
import type { Pause } from '../driver.ts'
import { getContainer, powerStateOf } from './containers/container.ts'
import type { DockerHost } from './host.ts'

/** Freezes a guest with the engine's freezer cgroup. */
export function dockerPause(host: DockerHost): Pause {
  const change = async (
    id: InstanceId,
    step: 'pause' | 'unpause',
    signal: AbortSignal,
  ): Promise<void> => {
    const { Id, State } = await getContainer(host, id, signal)
    const state = powerStateOf(State.Status)
    if (state === (step === 'pause' ? 'paused' : 'running')) return
    try {
      await host.engine.call('POST', `/containers/${Id}/${step}`, { signal })
    } catch (error) {
      if (!isFailure(error, 'conflict', 'internal') || state === 'running') throw error
      throw new Failure('conflict', `Instance ${id} is not running.`, { cause: error })
    }
  }
  return {
    pause: (id, signal) => host.locks.run(id, signal, () => change(id, 'pause', signal)),
    unpause: (id, signal) => host.locks.run(id, signal, () => change(id, 'unpause', signal)),
  }
}
