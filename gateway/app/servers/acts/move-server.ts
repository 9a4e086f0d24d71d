import { Failure } from '#common/errors.ts'
import { newId } from '#common/ids.ts'
import type { FirstTransaction } from '#common/saga/execution.ts'
import { findHost, type HostRecord, hostsNamed } from '../../../db/host-list.ts'
import type { Compute } from '../../compute.ts'
import { isHostUp } from '../../hosts/host-state.ts'
import type { RequestContext } from '../../request-context.ts'
import { sealingPurpose } from '../../sagas/build-request.ts'
import type { ServerRecord } from '../list/server-record.ts'
import { showServer } from '../list/show-server.ts'
import { actOnServer } from './act-on-server.ts'
import { refuseAction } from './refuse-action.ts'

/**
 * Afterwards the server's cell has been asked to move it to another host, or to one by name. Throws as `actOnServer`;
 * `invalid` for a host there is not, or where the server is.
 */
export async function migrateServer(
  compute: Compute,
  context: RequestContext,
  id: string,
  host: string | null,
  around: FirstTransaction = {},
): Promise<void> {
  const server = await readyServer(compute, context, id, 'migrate')
  if (host !== null) {
    await getHost(compute, host)
    if (server.host === host)
      throw new Failure('invalid', 'Cannot migrate to the host where the server exists.')
  }
  await move(compute, context, server, { name: 'migrate', host, isAwaited: false }, { around })
}

/** As `migrateServer`, while the guest runs. Until 2.33 (`isAwaited`) what the scheduler refuses is `invalid` here. */
export async function liveMigrateServer(
  compute: Compute,
  context: RequestContext,
  id: string,
  { host, isAwaited }: { readonly host: string | null; readonly isAwaited: boolean },
  around: FirstTransaction = {},
): Promise<void> {
  const server = await readyServer(compute, context, id, 'live-migrate')
  if (host !== null) await getHost(compute, host)
  if (isAwaited && host !== null && server.host === host)
    throw new Failure('invalid', `Unable to migrate instance (${id}) to current host (${host}).`)
  await move(compute, context, server, { name: 'live-migrate', host, isAwaited }, { around })
}

export interface Evacuation {
  /** By name; null: the scheduler's choice. */
  readonly host: string | null
  /** For the guest's administrator. */
  readonly password: string | null
  /** True: the guest is made and not started, for an operator who wants to look first. */
  readonly staysOff: boolean
}

/**
 * Afterwards the server's cell has been asked to rebuild it on a host other than its own, which must be down.
 * Throws as `actOnServer`; `not-found` for a host there is not; `invalid` for its own host, and while that is up.
 */
export async function evacuateServer(
  compute: Compute,
  context: RequestContext,
  id: string,
  { host, password, staysOff }: Evacuation,
  around: FirstTransaction = {},
): Promise<void> {
  const server = await showServer(compute.db, context, id)
  if (host !== null && (await hostsNamed(compute.db, host)).length === 0)
    throw new Failure('not-found', `Compute host ${host} not found.`)
  if (host !== null && server.host === host)
    throw new Failure('invalid', "The target host can't be the same one.")
  refuseAction(server, context, 'evacuate')
  const own = server.hostId === null ? undefined : await findHost(compute.db, server.hostId)
  if (own !== undefined && isHostUp(own, compute.cells))
    throw new Failure('invalid', `Compute service of ${server.host} is still in use.`)
  const asked = { name: 'evacuate', host, isAwaited: false, staysOff } as const
  await move(compute, context, server, asked, { password, around })
}

/** State and lock are looked at before hosts, as in Nova. */
async function readyServer(
  { db }: Compute,
  context: RequestContext,
  id: string,
  action: 'migrate' | 'live-migrate',
): Promise<ServerRecord> {
  const server = await showServer(db, context, id)
  refuseAction(server, context, action)
  return server
}

async function getHost({ db }: Compute, name: string): Promise<HostRecord> {
  const [host] = await hostsNamed(db, name)
  if (host === undefined) throw new Failure('invalid', `Compute host ${name} could not be found.`)
  return host
}

async function move(
  compute: Compute,
  context: RequestContext,
  { id, flavor }: ServerRecord,
  asked: {
    readonly name: 'migrate' | 'live-migrate' | 'evacuate'
    readonly host: string | null
    readonly isAwaited: boolean
    readonly staysOff?: boolean
  },
  { password = null, around }: { password?: string | null; around: FirstTransaction },
): Promise<void> {
  const migrationId = newId<string>()
  const sealedPassword =
    password === null ? null : compute.secrets.seal(password, sealingPurpose(id, 'password'))
  await actOnServer(compute, context, id, { ...asked, migrationId, flavor, sealedPassword }, around)
}
