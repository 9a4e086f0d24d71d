import { isFailure } from '#common/errors.ts'
import type { InstanceReport } from '../driver.ts'
import type { Container } from './containers/container.ts'
import { powerStateOf } from './containers/container.ts'
import { type ListedContainer, listOwnContainers } from './containers/own-containers.ts'
import type { DockerHost } from './host.ts'
import { instanceOfContainer } from './names.ts'

/** An instance, and when it went off, in epoch milliseconds; undefined: it is on, or never was. */
interface Seen extends Pick<InstanceReport, 'id' | 'powerState'> {
  readonly endedAt: number | undefined
}

/** Every instance of this owner, in any state. Throws `unavailable` where some may be off because the engine is ending. */
export async function list(
  host: DockerHost,
  signal: AbortSignal,
): Promise<readonly InstanceReport[]> {
  const containers = await listOwnContainers(host, signal)
  const all = await Promise.all(containers.map((each) => look(host, each, signal)))
  const seen = all.filter((each) => each !== undefined)
  const hasEnded = seen.some(({ powerState }) => powerState === 'shutdown')
  const startedAt = hasEnded ? await startOfPresentEngine(host, signal) : 0
  return seen.map(({ id, powerState, endedAt }) => {
    const endedWithHost = endedAt !== undefined && endedAt < startedAt
    return { id, powerState, ...(endedWithHost && { endedWithHost }) }
  })
}

async function look(
  host: DockerHost,
  { Id, Names, State }: ListedContainer,
  signal: AbortSignal,
): Promise<Seen | undefined> {
  const id = Names.map(instanceOfContainer).find((found) => found !== undefined)
  if (id === undefined) return undefined
  const powerState = powerStateOf(State)
  const endedAt = powerState === 'shutdown' ? await endOf(host, Id, signal) : undefined
  return { id, powerState, endedAt }
}

/**
 * When the engine started that takes connections now. A guest that was seen off before and had ended after that time went
 * off by itself: an engine that is ending takes no connections, and one that has started since has a later start.
 */
async function startOfPresentEngine(host: DockerHost, signal: AbortSignal): Promise<number> {
  await host.engine.assertTakesConnections(signal)
  return engineStartedAt(host, signal)
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
