import { isFailure } from '#common/errors.ts'
import { errorFields } from '#common/log.ts'
import type { Firewall, PortFilter } from '../firewall.ts'
import type { NestedHost } from './host.ts'

type FilteringHost = Pick<NestedHost, 'groups' | 'locks' | 'logger' | 'networks' | 'records'>

/** A refused change is requested again and again; the same one only so often. */
const ASK_AGAIN_MS = 60_000

/** Filters that the cloud has refused, by the ids of their ports. */
type Refused = Map<string, { readonly filter: string; readonly until: number }>

/** Ports below have the groups that ports have here, with the same rules; the nested cloud drops packets that they do not allow. */
export function nestedFirewall(host: FilteringHost): Firewall {
  const refused: Refused = new Map()
  return {
    apply: async (ports, signal) => {
      const applied: string[] = []
      const groups = new Map<string, string>()
      for (const port of ports) {
        const { portId } = port.nic
        const filter = JSON.stringify(port)
        const before = refused.get(portId)
        if (before?.filter === filter && performance.now() < before.until) continue
        refused.delete(portId)
        const outcome = await applyOne(host, port, groups, signal)
        if (outcome === 'applied') applied.push(portId)
        if (outcome === 'refused')
          refused.set(portId, { filter, until: performance.now() + ASK_AGAIN_MS })
      }
      return applied
    },
  }
}

/** Undefined for a port that is not here or is busy. `groups`: by our ids those below that have their rules already. */
async function applyOne(
  host: FilteringHost,
  port: PortFilter,
  groups: Map<string, string>,
  signal: AbortSignal,
): Promise<'applied' | 'refused' | undefined> {
  return host.locks.runIfFree(port.instance, signal, async () => {
    const isHere = host.records.get(port.instance)?.portIds.includes(port.nic.portId) === true
    if (!isHere || port.groupIds === undefined) return undefined
    try {
      await remember(host, port)
      const below = port.rules === null ? null : await groupsBelow(host, port, groups, signal)
      const isThere = await host.networks.changePort(port.nic, below, signal)
      return isThere ? 'applied' : undefined
    } catch (error) {
      if (!isFailure(error) || error.kind === 'unavailable') throw error
      const where = { instance: port.instance, port: port.nic.portId }
      host.logger?.warn({ ...where, ...errorFields(error) }, 'the nested cloud refuses a filter')
      return 'refused'
    }
  })
}

/** Afterwards the record names every group that may be made for the port. */
async function remember(
  { records }: FilteringHost,
  { instance, rules, groupIds = [] }: PortFilter,
): Promise<void> {
  const record = records.get(instance)
  if (record === undefined) return
  const named = (rules ?? []).flatMap(({ remoteGroupId }) => remoteGroupId ?? [])
  const all = [...new Set([...record.groupIds, ...groupIds, ...named])]
  if (all.length > record.groupIds.length)
    await records.write(instance, { ...record, groupIds: all })
}

async function groupsBelow(
  host: FilteringHost,
  { rules, groupIds = [] }: PortFilter,
  known: Map<string, string>,
  signal: AbortSignal,
): Promise<readonly string[]> {
  for (const id of groupIds) {
    if (known.has(id)) continue
    const own = (rules ?? []).filter(({ groupId }) => groupId === id)
    known.set(id, await host.groups.ensureWith(id, own, signal))
  }
  return groupIds.map((id) => known.get(id)!)
}
