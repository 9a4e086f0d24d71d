import { type Static, Type } from 'typebox'
import { Failure, isFailure } from '#common/errors.ts'
import type { InstanceId } from '#common/ids.ts'
import { POWER_STATES, type PowerState } from '#common/states/instance-states.ts'
import { Nullable, Texts } from '#openapi/wire/scalars.ts'
import type { Cloud } from '../cloud/cloud.ts'
import { Id } from '../cloud/id.ts'

const Amount = Type.Optional(Type.Number())

/** Of a server as the cloud shows it, what the driver reads. */
export const CloudServer = Type.Object({
  id: Id,
  name: Type.String(),
  status: Type.String(),
  metadata: Texts,
  /** Since 2.26. */
  tags: Type.Optional(Type.Array(Type.String())),
  created: Type.String(),
  updated: Type.Optional(Type.String()),
  /** Empty of one that starts from a volume. */
  image: Type.Optional(Type.Unknown()),
  'os-extended-volumes:volumes_attached': Type.Optional(Type.Array(Type.Object({ id: Id }))),
  fault: Type.Optional(Type.Object({ code: Type.Number(), message: Type.String() })),
  /** Embedded since 2.47, and without its id. */
  flavor: Type.Object({
    id: Type.Optional(Type.String()),
    vcpus: Amount,
    ram: Amount,
    disk: Amount,
    ephemeral: Amount,
    swap: Amount,
  }),
  'OS-EXT-STS:power_state': Amount,
  'OS-EXT-STS:task_state': Type.Optional(Nullable(Type.String())),
})
export type CloudServer = Static<typeof CloudServer>

export const ShownServer = Type.Object({ server: CloudServer })

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
    const path = `/servers/${serverId}`
    const asked = { signal, microversion }
    const { body } = await cloud.ask(ShownServer, 'compute', 'GET', path, asked)
    if (body.server.id !== serverId)
      throw new Failure('unavailable', 'The nested cloud gave an invalid answer about a server.')
    return body.server.status === 'DELETED' ? undefined : body.server
  } catch (error) {
    if (isFailure(error, 'not-found')) return undefined
    throw error
  }
}

const NAMES = new Map<number, PowerState>(
  Object.entries(POWER_STATES).map(([name, number]) => [number, name as PowerState]),
)

/** The guest's power state for us: a suspended guest counts as off, because its memory is the cloud's concern. */
export function powerStateOf(server: CloudServer): PowerState {
  const state = NAMES.get(server['OS-EXT-STS:power_state'] ?? POWER_STATES.nostate) ?? 'nostate'
  return state === 'suspended' ? 'shutdown' : state
}

/** Whether the first disk of the server is a volume. */
export function isVolumeBacked({ image }: CloudServer): boolean {
  return image === ''
}

/** Throws `conflict` for a server whose first disk is a volume, which is saved in no image. */
export function refuseVolumeBacked(server: CloudServer, id: InstanceId): void {
  if (isVolumeBacked(server)) throw new Failure('conflict', `Instance ${id} starts from a volume.`)
}

/** True while the cloud is doing something to the server. */
export function isBusy(server: CloudServer): boolean {
  return (server['OS-EXT-STS:task_state'] ?? null) !== null || server.status === 'BUILD'
}
