import { isUuid } from '#common/ids.ts'
import { findPlacedServer } from '../../../db/find-server.ts'
import { hostsByIds } from '../../../db/host-list.ts'
import { findRequestAttributes, type RequestAttributes } from '../../../db/request-specs.ts'
import type { ComputeDeps } from '../../compute.ts'
import { type HostCondition, hostStatus } from '../../hosts/host-state.ts'
import { isAllowed } from '../../policy.ts'
import type { RequestContext } from '../../request-context.ts'
import { sealingPurpose } from '../../sagas/build-request.ts'
import type { FoundServer, ServerRecord } from './server-record.ts'
import { showServer, visibleServer } from './show-server.ts'

/** The fields of servers for callers who may see their hosts. */
export interface ServerExtras {
  /** Nova's words; '' for a server on no host. */
  hostStatus(server: ServerRecord): 'UP' | 'DOWN' | 'MAINTENANCE' | 'UNKNOWN' | ''
  /** Base64, as the user sent it. */
  userData(server: ServerRecord): string | null
  /** Of the images that its image names as its kernel and ramdisk; '' where it names none. */
  kernelId(server: ServerRecord): string
  ramdiskId(server: ServerRecord): string
}

type Deps = Pick<ComputeDeps, 'db' | 'cells' | 'secrets'>

/** Undefined for everyone else, at no cost. */
export async function serverExtras(
  deps: Deps,
  context: RequestContext,
  servers: readonly ServerRecord[],
): Promise<ServerExtras | undefined> {
  if (!maySeePlaces(context)) return undefined
  const hostIds = new Set(servers.flatMap(({ hostId }) => (hostId === null ? [] : [hostId])))
  const [hosts, requests] = await Promise.all([
    hostsByIds(deps.db, [...hostIds]),
    findRequestAttributes(
      deps.db,
      servers.map(({ id }) => id),
    ),
  ])
  const byId = new Map(hosts.map((host) => [host.view.hostId as string, host]))
  return extrasOf(
    deps,
    ({ hostId }) => byId.get(hostId ?? ''),
    ({ id }) => requests.get(id),
  )
}

/** A server, and the further fields of it that the caller may see. */
export interface ShownServer {
  readonly server: FoundServer
  readonly extras: ServerExtras | undefined
}

/** In one read. Throws `not-found` for a server that is missing, deleted or of another project. */
export async function showWithExtras(
  deps: Deps,
  context: RequestContext,
  id: string,
): Promise<ShownServer> {
  if (!maySeePlaces(context))
    return { server: await showServer(deps.db, context, id), extras: undefined }
  const found = isUuid(id) ? await findPlacedServer(deps.db, id) : undefined
  const server = visibleServer(context, id, found?.server)
  const extras = extrasOf(
    deps,
    () => found?.host,
    () => found?.attributes,
  )
  return { server, extras }
}

function maySeePlaces(context: RequestContext): boolean {
  return isAllowed(context, 'os_compute_api:os-extended-server-attributes')
}

function extrasOf(
  { cells, secrets }: Deps,
  hostOf: (server: ServerRecord) => HostCondition | undefined,
  requestOf: (server: ServerRecord) => RequestAttributes | undefined,
): ServerExtras {
  return {
    hostStatus: (server) => {
      if (server.hostId === null) return ''
      const host = hostOf(server)
      return host === undefined ? 'UNKNOWN' : hostStatus(host, cells)
    },
    userData: (server) => {
      const text = requestOf(server)?.sealedUserData ?? null
      return text === null ? null : secrets.open(text, sealingPurpose(server.id, 'user-data'))
    },
    kernelId: (server) => requestOf(server)?.kernelId ?? '',
    ramdiskId: (server) => requestOf(server)?.ramdiskId ?? '',
  }
}
