import type { Executor } from '#common/db/database.ts'
import { listHosts } from '../../db/host-list.ts'

/** A driver, as the hosts that run it tell. */
export interface KnownDriver {
  readonly name: string
  readonly isSimulated: boolean
  readonly hosts: number
  /** The abilities that all of its hosts have. */
  readonly capabilities: readonly string[]
}

/** The drivers of all hosts, by name. */
export async function knownDrivers(db: Executor): Promise<readonly KnownDriver[]> {
  const hosts = (await listHosts(db)).map(({ view }) => view)
  const byDriver = Map.groupBy(hosts, ({ driver }) => driver)
  return [...byDriver]
    .map(([name, group]) => ({
      name,
      isSimulated: group.every(({ simulated }) => simulated),
      hosts: group.length,
      capabilities: group
        .map(({ capabilities }) => capabilities)
        .reduce((common, each) => common.filter((capability) => each.includes(capability))),
    }))
    .toSorted((a, b) => a.name.localeCompare(b.name))
}
