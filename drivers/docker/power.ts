import { Failure, isFailure } from '#common/errors.ts'
import type { InstanceId } from '#common/ids.ts'
import type { Pause, RebootKind } from '../driver.ts'
import { type Container, getContainer, powerStateOf } from './containers/container.ts'
import type { DockerHost } from './host.ts'

/** Afterwards the guest runs. */
export async function start(host: DockerHost, id: InstanceId, signal: AbortSignal): Promise<void> {
  await host.locks.run(id, signal, async () => {
    await powerOn(host, await getContainer(host, id, signal), signal)
  })
}

/** Afterwards the guest is off. */
export async function stop(
  host: DockerHost,
  id: InstanceId,
  graceMs: number,
  signal: AbortSignal,
): Promise<void> {
  await host.locks.run(id, signal, async () => {
    await powerOff(host, await getContainer(host, id, signal), graceMs, signal)
  })
}

/** Afterwards the guest has started again. */
export async function reboot(
  host: DockerHost,
  id: InstanceId,
  request: { readonly how: RebootKind; readonly graceMs: number },
  signal: AbortSignal,
): Promise<void> {
  await host.locks.run(id, signal, async () => {
    const container = await getContainer(host, id, signal)
    await powerOff(host, container, request.how === 'soft' ? request.graceMs : 0, signal)
    await powerOn(host, await getContainer(host, id, signal), signal)
  })
}

/** Afterwards the container runs. The caller holds the instance's lock. */
export async function powerOn(
  { engine }: DockerHost,
  { Id, State }: Container,
  signal: AbortSignal,
): Promise<void> {
  const step = powerStateOf(State.Status) === 'paused' ? 'unpause' : 'start'
  await engine.call('POST', `/containers/${Id}/${step}`, { signal })
}

/** Afterwards the container is off. A frozen guest hears nothing, so it is cut off. The caller holds its lock. */
export async function powerOff(
  { engine }: DockerHost,
  { Id, State }: Container,
  graceMs: number,
  signal: AbortSignal,
): Promise<void> {
  const isFrozen = powerStateOf(State.Status) === 'paused'
  if (graceMs === 0 || isFrozen) {
    await engine.call('POST', `/containers/${Id}/kill`, { signal }).catch((error: unknown) => {
      // It is off already.
      if (!isFailure(error, 'conflict')) throw error
    })
    await engine.call('POST', `/containers/${Id}/wait`, { signal })
    return
  }
  const query = { t: String(Math.ceil(graceMs / 1000)) }
  await engine.call('POST', `/containers/${Id}/stop`, { query, signal })
}

/** Freezes a guest with the engine's freezer cgroup. */
export function dockerPause(host: DockerHost): Pause {
  const change = async (
    id: InstanceId,
    step: 'pause' | 'unpause',
    signal: AbortSignal,
  ): Promise<void> => {
    const wanted = step === 'pause' ? 'paused' : 'running'
    const look = async () => {
      const { Id, State } = await getContainer(host, id, signal)
      return { Id, state: powerStateOf(State.Status) }
    }
    const { Id, state } = await look()
    if (state === wanted) return
    try {
      await host.engine.call('POST', `/containers/${Id}/${step}`, { signal })
    } catch (error) {
      if (!isFailure(error, 'conflict', 'internal')) throw error
      // The engine hears of a change from the kernel again, and may show the state before it for a moment.
      const { state: found } = await look()
      if (found === wanted) return
      if (found === 'running' || found === 'paused') throw error
      throw new Failure('conflict', `Instance ${id} is not running.`, { cause: error })
    }
  }
  return {
    pause: (id, signal) => host.locks.run(id, signal, () => change(id, 'pause', signal)),
    unpause: (id, signal) => host.locks.run(id, signal, () => change(id, 'unpause', signal)),
  }
}
