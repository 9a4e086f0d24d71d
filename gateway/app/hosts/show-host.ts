import type { Executor } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import { type HostRecord, hostsNamed } from '../../db/host-list.ts'
import { type ProjectUse, useByProject } from '../../db/host-use.ts'

/** A host with what the servers of each project take of it. */
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
