import type { Wrong } from './compare.ts'
import type { CellState, Snapshot } from './snapshot.ts'

/** Every ledger must equal a fresh count, and stay within its limit. */
export function compareLedgers({ api, gateway, cells }: Snapshot): readonly Wrong[] {
  const wrong: Wrong[] = []
  const add = (text: string) => wrong.push({ kind: 'miscounted', text, requests: [] })
  for (const { owner, resource, used, counted, limit } of gateway.quotas) {
    if (used !== counted) add(`quota of ${owner} counts ${used} ${resource}, there are ${counted}`)
    if (limit !== undefined && limit >= 0 && counted > limit)
      add(`${owner} has ${counted} ${resource}, its limit is ${limit}`)
  }
  const vcpus = new Map(api.servers.map((server) => [server.id, server.vcpus]))
  for (const { serverId, cores, isResizing, isCharged } of gateway.mappings) {
    const has = vcpus.get(serverId)
    if (has !== undefined && isResizing === 0 && isCharged === 1 && cores !== has)
      add(`server ${serverId} is charged ${cores} cores and has ${has}`)
  }
  return [...wrong, ...cells.flatMap(wrongClaims)]
}

/** The claims on a host must equal the allocations of its servers. */
function wrongClaims({ name: cell, instances, allocations, providers }: CellState): Wrong[] {
  const wrong: Wrong[] = []
  const add = (kind: Wrong['kind'], text: string) => wrong.push({ kind, text, requests: [] })
  const hosts = new Map(instances.map(({ serverId, host }) => [serverId, host]))
  const resized = new Set(
    instances.filter(({ vmState }) => vmState === 'resized').map(({ serverId }) => serverId),
  )
  for (const { consumerId, provider } of allocations) {
    if (!hosts.has(consumerId))
      add('leaked', `${provider} in ${cell} holds room for ${consumerId}, which is gone`)
    else if (hosts.get(consumerId) !== provider && !resized.has(consumerId))
      add('leaked', `${provider} in ${cell} holds room for ${consumerId}, which is elsewhere`)
  }
  const held = new Set(allocations.map(({ consumerId, provider }) => `${consumerId} ${provider}`))
  for (const { serverId, host } of instances)
    if (host !== null && !held.has(`${serverId} ${host}`))
      add('miscounted', `server ${serverId} in ${cell} has no room claimed on ${host}`)
  for (const provider of providers)
    for (const [resource, used] of Object.entries(provider.used)) {
      const own = allocations.filter(
        (row) => row.provider === provider.name && row.resourceClass === resource,
      )
      const counted = own.reduce((sum, row) => sum + row.used, 0)
      if (counted !== used)
        add('miscounted', `${provider.name} counts ${used} ${resource}, claimed are ${counted}`)
    }
  return wrong
}
