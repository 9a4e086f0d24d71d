import { afterAll, beforeAll, expect, test } from 'vitest'
import { Database } from '#common/db/database.ts'
import { newId } from '#common/ids.ts'
import type { NetworkChanges, NetworkState, WireNetwork } from '#openapi/wire/network.ts'
import { migratedDatabase } from '#test/env/migrated-database.ts'
import {
  listNetworkObjects,
  networkVersion,
  readNetworkState,
  writeNetworkChanges,
} from './network-objects.ts'

let db: Database

beforeAll(async () => {
  const url = await migratedDatabase('network_objects', 'cells')
  db = new Database({ url, connectionsMax: 4 })
})
afterAll(() => db?.[Symbol.asyncDispose]())

const NOTHING: NetworkState = {
  networks: [],
  subnets: [],
  ports: [],
  securityGroups: [],
  routers: [],
  floatingIps: [],
  remoteHosts: [],
}

function network(name: string, id: string = newId()): WireNetwork {
  return {
    ...{ id, revision: 1, name, projectId: 'project', isUp: true, isExternal: false, mtu: 1442 },
    ...{ tunnelKey: 1, physicalNetwork: null, vlan: null, dnsDomain: '' },
  }
}

const remoteHost = (id: string = newId()) => ({ id, name: 'far', encapAddress: '192.0.2.9' })

function changes(put: Partial<NetworkState>, removed: NetworkChanges['removed'] = []) {
  const all = { ...NOTHING, ...put }
  const digests = Object.entries(all).flatMap(([kind, objects]) =>
    objects.map(({ id }) => ({ kind: kind as never, id, digest: `digest-of-${kind}` })),
  )
  return { put: all, digests, removed: [...removed] }
}

const write = (generation: number, what: NetworkChanges) =>
  db.transaction((tx) => writeNetworkChanges(tx, generation, what))

test('objects of each kind are stored, replaced and removed separately', async () => {
  const [a, b, host] = [network('a'), network('b'), remoteHost()]
  await write(1, changes({ networks: [a, b], remoteHosts: [host] }))
  expect(await readNetworkState(db)).toEqual({
    ...NOTHING,
    networks: expect.arrayContaining([a, b]),
    remoteHosts: [host],
  })
  const before = await networkVersion(db)

  const renamed = network('renamed', a.id)
  const gone = [
    { kind: 'networks' as const, id: b.id },
    { kind: 'ports' as const, id: a.id },
  ]
  await write(1, changes({ networks: [renamed] }, gone))

  const state = await readNetworkState(db)
  expect(state.networks).toEqual([renamed])
  expect(state.remoteHosts).toEqual([host])
  expect(await networkVersion(db)).toBeGreaterThan(before)
  expect(await listNetworkObjects(db, null, 10)).toEqual([
    { kind: 'networks', id: a.id, digest: 'digest-of-networks' },
    { kind: 'remoteHosts', id: host.id, digest: 'digest-of-remoteHosts' },
  ])
  const [first] = await listNetworkObjects(db, null, 1)
  expect(await listNetworkObjects(db, first!, 10)).toMatchObject([{ id: host.id }])
})

test('a gateway that has lost its lease changes nothing', async () => {
  await write(5, changes({}))
  const before = await networkVersion(db)

  await expect(write(4, changes({ networks: [network('late')] }))).rejects.toMatchObject({
    kind: 'conflict',
  })

  expect((await readNetworkState(db)).networks.map(({ name }) => name)).not.toContain('late')
  expect(await networkVersion(db)).toBe(before)
})

test('an object without its digest is refused', async () => {
  const what = { ...changes({ networks: [network('bare')] }), digests: [] }
  await expect(write(9, what)).rejects.toMatchObject({ kind: 'invalid' })
})
