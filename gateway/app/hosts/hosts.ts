import type { WorkContext } from '#common/context.ts'
import type { Executor } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import { type HostRecord, hostsNamed, listHosts } from '../../db/host-list.ts'
import { type ProjectUse, useByProject } from '../../db/host-use.ts'
import { type Cells, isHostUp } from './host-state.ts'
import { type ServiceDeps, setService } from './services.ts'

/** An availability zone: the hosts that say they are in it. */
export interface Zone {
  readonly name: string
  /** True when a server could be put there now: a host is up and enabled. */
  readonly isAvailable: boolean
  readonly hosts: readonly HostRecord[]
}

/** Every zone, by name. */
export async function listZones(db: Executor, cells: Cells): Promise<readonly Zone[]> {
  const byZone = Map.groupBy(await listHosts(db), ({ view }) => view.zone)
  return [...byZone]
    .map(([name, hosts]) => {
      const isAvailable = hosts.some((host) => !host.view.isDisabled && isHostUp(host, cells))
      return { name, isAvailable, hosts }
    })
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
}

/** A host with the amounts that the servers of each project use. */
export interface HostUse {
  readonly host: HostRecord
  readonly projects: readonly ProjectUse[]
}

/** The only host of this name. Throws `not-found`, and `invalid` where several cells have one. */
export async function hostNamed(db: Executor, name: string): Promise<HostRecord> {
  const [host, another] = await hostsNamed(db, name)
  if (host === undefined) throw new Failure('not-found', `Compute host ${name} could not be found.`)
  if (another !== undefined)
    throw new Failure('invalid', `Several cells have a host ${name}: name it by its UUID.`)
  return host
}

/** Throws as `hostNamed`. */
export async function showHost(db: Executor, name: string): Promise<HostUse> {
  const host = await hostNamed(db, name)
  return { host, projects: await useByProject(db, host.view.hostId) }
}

/**
 * Afterwards the host takes servers or does not. Throws `not-found`; `unsupported` for maintenance: no driver here
 * moves the servers of a host away by itself.
 */
export async function updateHost(
  deps: ServiceDeps,
  work: WorkContext,
  name: string,
  { isEnabled, maintenance }: { readonly isEnabled?: boolean; readonly maintenance?: boolean },
): Promise<void> {
  const host = await hostNamed(deps.db, name)
  if (maintenance !== undefined) throw notSupported()
  if (isEnabled !== undefined)
    await setService(deps, work, host, { isDisabled: !isEnabled, disabledReason: null })
}

/** Throws `not-found`, or `unsupported`: no driver here switches its host on or off. */
export async function switchHost(deps: Pick<ServiceDeps, 'db'>, name: string): Promise<never> {
  await hostNamed(deps.db, name)
  throw notSupported()
}

function notSupported(): Failure {
  return new Failure('unsupported', 'The requested functionality is not supported.')
}
