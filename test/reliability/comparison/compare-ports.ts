import type { Wrong } from './compare.ts'
import type { Snapshot } from './snapshot.ts'

/** Ports and addresses are those of servers that are there, bound where these run, and no address is given twice. */
export function comparePorts({ api, gateway }: Snapshot): readonly Wrong[] {
  const wrong: Wrong[] = []
  const add = (kind: Wrong['kind'], text: string) => wrong.push({ kind, text, requests: [] })
  const servers = new Map(api.servers.map((server) => [server.id, server]))
  const ports = new Map(gateway.ports.map((port) => [port.id, port]))
  for (const port of gateway.ports) {
    const server = servers.get(port.deviceId)
    if (port.deviceId !== '' && server === undefined)
      add('leaked', `port ${port.id} belongs to ${port.deviceId}, which is gone`)
    if (port.isBootMade !== 0 && port.deviceId === '')
      add('leaked', `port ${port.id} was made with a server and belongs to none`)
    if (server?.status === 'ACTIVE' && (port.status !== 'ACTIVE' || port.host !== server.host))
      add(
        'wrong answer',
        `port ${port.id} is ${port.status} on '${port.host}', its server ${server.id} ACTIVE on ${server.host}`,
      )
  }
  const holders = new Map<string, Set<string>>()
  for (const { portId, address } of gateway.addresses) {
    const port = ports.get(portId)
    if (port === undefined)
      add('leaked', `address ${address} belongs to port ${portId}, which is gone`)
    else if (port.deviceId !== '') {
      const own = holders.get(port.deviceId) ?? new Set()
      holders.set(port.deviceId, own.add(address))
    }
  }
  for (const { id, addresses } of api.servers) {
    const held = [...(holders.get(id) ?? [])].toSorted().join(' ')
    const shown = addresses.toSorted().join(' ')
    if (held !== shown)
      add('wrong answer', `server ${id} shows addresses '${shown}', its ports have '${held}'`)
  }
  return wrong
}
