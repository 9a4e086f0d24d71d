import { Failure, isFailure } from '#common/errors.ts'
import type { InstanceId } from '#common/ids.ts'
import type { PowerState } from '#common/states/instance-states.ts'
import type { DockerHost } from '../host.ts'
import { containerName, isOwn } from '../names.ts'

/** Of what `GET /containers/{id}/json` answers, what the driver reads. */
export interface Container {
  readonly Id: string
  readonly Image: string
  readonly State: ContainerState
  readonly Config: {
    readonly Labels: Readonly<Record<string, string>> | null
  }
  readonly Mounts: readonly { readonly Name?: string; readonly Destination: string }[]
  readonly NetworkSettings: {
    readonly Networks: Readonly<Record<string, { readonly MacAddress: string }>>
  }
}

export interface ContainerState {
  readonly Status: string
  /** RFC 3339; year 1 when it never happened. */
  readonly StartedAt: string
  readonly FinishedAt: string
}

/** The engine's words for what a container does (`created` was never started). */
const POWER_STATES: Readonly<Record<string, PowerState>> = {
  created: 'shutdown',
  running: 'running',
  paused: 'paused',
  restarting: 'running',
  removing: 'shutdown',
  exited: 'shutdown',
  dead: 'crashed',
}

export function powerStateOf(status: string): PowerState {
  return POWER_STATES[status] ?? 'nostate'
}

/** The container of this name, of any owner; undefined when there is none. */
export async function findContainer(
  { engine }: DockerHost,
  name: string,
  signal: AbortSignal,
): Promise<Container | undefined> {
  try {
    return await engine.call<Container>('GET', `/containers/${name}/json`, { signal })
  } catch (error) {
    if (isFailure(error, 'not-found')) return undefined
    throw error
  }
}

/** The instance's container; throws `not-found` when this host has none of its own. */
export async function getContainer(
  host: DockerHost,
  id: InstanceId,
  signal: AbortSignal,
): Promise<Container> {
  const container = await findContainer(host, containerName(id), signal)
  if (container !== undefined && isOwn(host.owner, container.Config.Labels)) return container
  throw new Failure('not-found', `Instance ${id} is not on this host.`)
}
