import { isFailure } from '#common/errors.ts'
import type { InstanceReport } from '../driver.ts'
import type { Container } from './containers/container.ts'
import { powerStateOf } from './containers/container.ts'
import { type ListedContainer, listOwnContainers } from './containers/own-containers.ts'
import type { DockerHost } from './host.ts'
import { instanceOfContainer } from './names.ts'

/** Every instance of this owner, in any state. Throws `unavailable` where some may be off because the engine is ending. */
export async function list(
  host: DockerHost,
  signal: AbortSignal,
): Promise<readonly InstanceReport[]> {
  const containers = await listOwnContainers(host, signal)
  const startedAt = await engineStartedAt(host, signal)
  const reports = await Promise.all(containers.map((c) => reportOf(host, c, startedAt, signal)))
  const listed = reports.filter((report) => report !== undefined)
  // Afterwards: what was off before that, the engine did not take with it.
  if (listed.some(({ powerState }) => powerState === 'shutdown'))
    await host.engine.assertTakesConnections(signal)
  return listed
}

async function reportOf(
  host: DockerHost,
  { Id, Names, State }: ListedContainer,
  startedAt: number,
  signal: AbortSignal,
): Promise<InstanceReport | undefined> {
  const id = Names.map(instanceOfContainer).find((found) => found !== undefined)
  if (id === undefined) return undefined
  const powerState = powerStateOf(State)
  if (powerState !== 'shutdown') return { id, powerState }
  const finishedAt = await endOf(host, Id, signal)
  return finishedAt !== undefined && finishedAt < startedAt
    ? { id, powerState, endedWithHost: true }
    : { id, powerState }
}

/** When a container ended, in epoch milliseconds; undefined when it never ran or is gone. */
async function endOf(
  { engine }: DockerHost,
  containerId: string,
  signal: AbortSignal,
): Promise<number | undefined> {
  try {
    const { State } = await engine.call<Container>('GET', `/containers/${containerId}/json`, {
      signal,
    })
    const finishedAt = Date.parse(State.FinishedAt)
    return finishedAt > 0 ? finishedAt : undefined
  } catch (error) {
    if (isFailure(error, 'not-found')) return undefined
    throw error
  }
}

/**
 * When the engine started, in epoch milliseconds. It ends every container with itself and says so nowhere, but it makes
 * its own network `bridge` again at every start, after it has noted those ends. 0 for an engine without that network.
 */
async function engineStartedAt({ engine }: DockerHost, signal: AbortSignal): Promise<number> {
  try {
    const { Created } = await engine.call<{ readonly Created: string }>('GET', '/networks/bridge', {
      signal,
    })
    return Date.parse(Created)
  } catch (error) {
    if (isFailure(error, 'not-found')) return 0
    throw error
  }
}
