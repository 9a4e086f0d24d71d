import type { Table } from './ovsdb/database.ts'
import { textOf, type ValueMap } from './ovsdb/values.ts'

/** The hosts on which a guest that moves has announced itself, as their ovn-controllers write it, with commas. */
const ACTIVATED = 'additional-chassis-activated'

/** Those of these ports, each with the host that its guest moves to, whose guests run there. */
export function arrivedPorts(
  destinations: ReadonlyMap<string, string>,
  bindings: Table,
): ReadonlySet<string> {
  if (destinations.size === 0) return new Set()
  const arrived = [...bindings.values()].flatMap((row) => {
    const portId = textOf(row, 'logical_port')
    const destination = destinations.get(portId)
    const activated = (row['options'] as ValueMap)[ACTIVATED]
    const isThere = destination !== undefined && String(activated).split(',').includes(destination)
    return isThere ? [portId] : []
  })
  return new Set(arrived)
}
