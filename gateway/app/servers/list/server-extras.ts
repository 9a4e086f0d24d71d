import { hostsByIds } from '../../../db/host-list.ts'
import { findRequestAttributes } from '../../../db/request-specs.ts'
import type { ComputeDeps } from '../../compute.ts'
import { hostStatus } from '../../hosts/host-state.ts'
import { isAllowed } from '../../policy.ts'
import type { RequestContext } from '../../request-context.ts'
import { sealingPurpose } from '../../sagas/build-request.ts'
import type { ServerRecord } from './server-record.ts'

/** What is shown of servers to those who may see where they are. */
export interface ServerExtras {
  /** Nova's words; '' for a server on no host. */
  hostStatus(server: ServerRecord): 'UP' | 'DOWN' | 'MAINTENANCE' | 'UNKNOWN' | ''
  /** Base64, as the user sent it. */
  userData(server: ServerRecord): string | null
  /** Of the images that its image names as its kernel and ramdisk; '' where it names none. */
  kernelId(server: ServerRecord): string
  ramdiskId(server: ServerRecord): string
}

/** Undefined for everyone else, at no cost. */
export async function serverExtras(
  deps: Pick<ComputeDeps, 'db' | 'cells' | 'secrets'>,
  context: RequestContext,
  servers: readonly ServerRecord[],
): Promise<ServerExtras | undefined> {
  if (!isAllowed(context, 'os_compute_api:os-extended-server-attributes')) return undefined
  const hostIds = new Set(servers.flatMap(({ hostId }) => (hostId === null ? [] : [hostId])))
  const [hosts, requests] = await Promise.all([
    hostsByIds(deps.db, [...hostIds]),
    findRequestAttributes(
      deps.db,
      servers.map(({ id }) => id),
    ),
  ])
  const status = new Map(hosts.map((host) => [host.view.hostId, hostStatus(host, deps.cells)]))
  return {
    hostStatus: ({ hostId }) => (hostId === null ? '' : (status.get(hostId) ?? 'UNKNOWN')),
    userData: ({ id }) => {
      const text = requests.get(id)?.sealedUserData ?? null
      return text === null ? null : deps.secrets.open(text, sealingPurpose(id, 'user-data'))
    },
    kernelId: ({ id }) => requests.get(id)?.kernelId ?? '',
    ramdiskId: ({ id }) => requests.get(id)?.ramdiskId ?? '',
  }
}
