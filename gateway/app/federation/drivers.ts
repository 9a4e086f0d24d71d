import type { Executor } from '#common/db/database.ts'
import type { HostView } from '#openapi/wire/host.ts'
import { listHosts } from '../../db/host-list.ts'

/** A driver, as the hosts that run it tell. */
export interface KnownDriver {
  readonly name: string
  readonly isSimulated: boolean
  readonly hosts: number
  /** The abilities that all of its hosts have. */
  readonly capabilities: readonly string[]
  /** Of flavors, about hardware, that have an effect on guests of all of its hosts; null: all have, or a nested cloud decides. */
  readonly extraSpecs: readonly string[] | null
  /** Of images, likewise: names, or `NAME=VALUE` where no other value has an effect. */
  readonly imageProperties: readonly string[] | null
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
      capabilities: inAll(group.map(({ capabilities }) => capabilities)),
      extraSpecs: heededBy(group, 'extraSpecs'),
      imageProperties: heededBy(group, 'imageProperties'),
    }))
    .toSorted((a, b) => a.name.localeCompare(b.name))
}

function heededBy(
  hosts: readonly HostView[],
  kind: 'extraSpecs' | 'imageProperties',
): readonly string[] | null {
  const lists = hosts.flatMap(({ inventory }) => {
    const list = inventory?.[kind]
    return list === undefined ? [] : [list]
  })
  return lists.length === 0 ? null : inAll(lists).toSorted()
}

function inAll([first = [], ...rest]: readonly (readonly string[])[]): readonly string[] {
  return first.filter((name) => rest.every((each) => each.includes(name)))
}
