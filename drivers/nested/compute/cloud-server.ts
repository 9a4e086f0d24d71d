import { Failure, isFailure } from '#common/errors.ts'
import { POWER_STATES, type PowerState } from '#common/states/instance-states.ts'
import type { Cloud } from '../cloud/cloud.ts'

/** Of a server as the cloud shows it, what the driver reads. */
export interface CloudServer {
  readonly id: string
  readonly name: string
  readonly status: string
  readonly metadata: Readonly<Record<string, string>>
  readonly created: string
  readonly fault?: { readonly code: number; readonly message: string }
  /** Embedded since 2.47, and without its id. */
  readonly flavor: {
    readonly id?: string
    readonly vcpus?: number
    readonly ram?: number
    readonly disk?: number
    readonly ephemeral?: number
    readonly swap?: number
  }
  readonly 'OS-EXT-STS:power_state'?: number
  readonly 'OS-EXT-STS:task_state'?: string | null
}

/** The first microversion that shows what a server has of cores and memory. */
export const FLAVOR_SHOWN_SINCE = '2.47'

/** The server as it is now; undefined when the cloud itself says that there is none. */
export async function showServer(
  cloud: Cloud,
  serverId: string,
  signal: AbortSignal,
  microversion?: string,
): Promise<CloudServer | undefined> {
  try {
    const { body } = await cloud.call<{ server?: CloudServer }>(
      'compute',
      'GET',
      `/servers/${serverId}`,
      { signal, microversion },
    )
    if (body.server?.id !== serverId)
      throw new Failure('unavailable', 'The cloud below answers nonsense for a server.')
    return body.server.status === 'DELETED' ? undefined : body.server
  } catch (error) {
    if (isFailure(error, 'not-found')) return undefined
    throw error
  }
}

const NAMES = new Map<number, PowerState>(
  Object.entries(POWER_STATES).map(([name, number]) => [number, name as PowerState]),
)

/** What the guest is for us: a suspended one is off, its memory the cloud's concern. */
export function powerStateOf(server: CloudServer): PowerState {
  const state = NAMES.get(server['OS-EXT-STS:power_state'] ?? POWER_STATES.nostate) ?? 'nostate'
  return state === 'suspended' ? 'shutdown' : state
}

/** True while the cloud is doing something to the server. */
export function isBusy(server: CloudServer): boolean {
  return (server['OS-EXT-STS:task_state'] ?? null) !== null || server.status === 'BUILD'
}
