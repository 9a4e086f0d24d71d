import { isFailure } from '#common/errors.ts'
import { errorFields } from '#common/log.ts'
import type { Firewall, PortFilter } from '../driver.ts'
import type { NestedHost } from './host.ts'

/** Ports below have the groups that ports have here, with the same rules; the cloud below holds up what they do not let. */
export function nestedFirewall(host: NestedHost): Firewall {
  return {
    apply: async (ports, signal) => {
      const applied: string[] = []
      const groups = new Map<string, string>()
      for (const port of ports)
        if (await applyOne(host, port, groups, signal)) applied.push(port.nic.portId)
      return applied
    },
  }
}

/** Not true for what has to be told again. `groups`: by our ids those below that have their rules already. */
async function applyOne(
  host: NestedHost,
  port: PortFilter,
  groups: Map<string, string>,
  signal: AbortSignal,
): Promise<boolean | undefined> {
  return host.locks.runIfFree(port.instance, signal, async () => {
    const isHere = host.records.get(port.instance)?.portIds.includes(port.nic.portId) === true
    if (!isHere || port.groupIds === undefined) return false
    try {
      await remember(host, port)
      const below = port.rules === null ? null : await groupsBelow(host, port, groups, signal)
      return await host.networks.changePort(port.nic, below, signal)
    } catch (error) {
      if (!isFailure(error) || error.kind === 'unavailable') throw error
      const where = { instance: port.instance, port: port.nic.portId }
      host.logger?.warn({ ...where, ...errorFields(error) }, 'the cloud below refuses a filter')
      // More room may be found for it; it will not be understood.
      return error.kind !== 'no-capacity' && error.kind !== 'conflict'
    }
  })
}

/** Afterwards the record names every group that may be made for the port. */
async function remember(
  { records }: NestedHost,
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
  host: NestedHost,
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
