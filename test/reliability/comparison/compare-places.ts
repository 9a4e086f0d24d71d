import type { Wrong } from './compare.ts'
import type { CellState, Guest, InstanceRow, Snapshot } from './snapshot.ts'

/** What a guest is doing when its server is in such a state; others may do either. */
const POWER_OF: Readonly<Record<string, string>> = {
  active: 'running',
  stopped: 'shutdown',
  paused: 'paused',
}

/** Every server is in one cell and on one host, nothing else is anywhere, and all agree on its state. */
export function comparePlaces(snapshot: Snapshot): readonly Wrong[] {
  return [
    ...mappedOnce(snapshot),
    ...snapshot.cells.flatMap(guestsAsPlaced),
    ...shownAsIs(snapshot),
  ]
}

function mappedOnce({ gateway, cells }: Snapshot): readonly Wrong[] {
  const wrong: Wrong[] = []
  const add = (kind: Wrong['kind'], text: string) => wrong.push({ kind, text, requests: [] })
  const mapped = new Map(gateway.mappings.map((row) => [row.serverId, row]))
  const holders = Map.groupBy(
    cells.flatMap(({ id, name, instances }) =>
      instances.map((row) => ({ cell: { id, name }, row })),
    ),
    ({ row }) => row.serverId,
  )
  for (const [id, held] of holders) {
    const mapping = mapped.get(id)
    const where = held.map(({ cell }) => cell.name).join(' and ')
    if (held.length > 1) add('doubled', `server ${id} is in ${where}`)
    if (mapping === undefined) add('leaked', `${where} holds server ${id}, which is gone`)
    for (const { cell, row } of mapping === undefined ? [] : held)
      if (mapping?.cellId !== cell.id || mapping.attempt !== row.attempt)
        add('leaked', `${cell.name} holds server ${id} at attempt ${row.attempt}, not mapped to it`)
  }
  for (const { serverId: id, cellId } of gateway.mappings)
    if (cellId !== null && !holders.has(id))
      add('lost', `server ${id} is mapped to a cell without it`)
  return wrong
}

function guestsAsPlaced({ name: cell, instances, guests }: CellState): readonly Wrong[] {
  const wrong: Wrong[] = []
  const add = (kind: Wrong['kind'], text: string) => wrong.push({ kind, text, requests: [] })
  const placed = new Map(instances.map((row) => [row.serverId, row]))
  const hosting = new Map<string, { readonly host: string; readonly guest: Guest }[]>()
  for (const [host, own] of Object.entries(guests))
    for (const guest of own)
      hosting.set(guest.id, [...(hosting.get(guest.id) ?? []), { host, guest }])
  for (const [id, held] of hosting) {
    const row = placed.get(id)
    const where = held.map(({ host }) => host).join(' and ')
    // Until a resize is confirmed the host it came from keeps the guest as it was.
    if (held.length > 1 && row?.vmState !== 'resized')
      add('doubled', `server ${id} is a guest of ${where}`)
    if (row === undefined) add('leaked', `${where} keeps guest ${id}, which ${cell} does not have`)
    else if (!held.some(({ host }) => host === row.host))
      add('leaked', `${where} keeps guest ${id}, which ${cell} has on ${row.host}`)
    else notePower(wrong, row, held.find(({ host }) => host === row.host)!.guest)
  }
  for (const { serverId: id, host, vmState } of instances)
    if (
      host !== null &&
      vmState !== 'error' &&
      !hosting.get(id)?.some((each) => each.host === host)
    )
      add('lost', `${cell} has server ${id} (${vmState}) on ${host}, which has no such guest`)
  return wrong
}

function notePower(wrong: Wrong[], { serverId, vmState, host }: InstanceRow, guest: Guest): void {
  const power = POWER_OF[vmState]
  if (power === undefined || power === guest.powerState) return
  const text = `server ${serverId} is ${vmState}, its guest on ${host} is ${guest.powerState}`
  wrong.push({ kind: 'wrong answer', text, requests: [] })
}

/** The gateways show the state of a server that its cell has. */
function shownAsIs({ gateway, cells }: Snapshot): readonly Wrong[] {
  const wrong: Wrong[] = []
  const add = (kind: Wrong['kind'], text: string) => wrong.push({ kind, text, requests: [] })
  const shown = new Map(gateway.index.map((row) => [row.serverId, row]))
  const mapped = new Set(gateway.mappings.map(({ serverId }) => serverId))
  for (const id of mapped) if (!shown.has(id)) add('lost', `server ${id} is mapped and not shown`)
  for (const id of shown.keys())
    if (!mapped.has(id)) add('leaked', `server ${id} is shown and not mapped`)
  for (const { name, instances } of cells)
    for (const { serverId: id, vmState, host } of instances) {
      const row = shown.get(id)
      if (row !== undefined && (row.vmState !== vmState || row.host !== host))
        add(
          'wrong answer',
          `server ${id} is shown ${row.vmState} on ${row.host}, ${name} has it ${vmState} on ${host}`,
        )
    }
  return wrong
}
