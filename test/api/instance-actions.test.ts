import { afterAll, beforeAll, expect, test } from 'vitest'
import { queueActionEvents, queueActions } from '#gateway/db/server-actions.ts'
import { queueServers } from '#gateway/db/server-index.ts'
import type { Microversion } from '#openapi/microversions.ts'
import { type ApiClient, type ComputeApi, computeApi } from '#test/env/compute-api.ts'
import { sampleServer } from '#test/env/sample-server.ts'

let api: ComputeApi
let admin: ApiClient
let alice: ApiClient
let bob: ApiClient
let serverId: string
const REQUESTS = ['req-1', 'req-2', 'req-3']

beforeAll(async () => {
  api = await computeApi('instance_actions', ['west'])
  admin = await api.user('admin', 'admin', 'admin')
  alice = await api.user('alice', 'blue', 'member')
  bob = await api.user('bob', 'red', 'member')
  const cellId = api.cells[0]!.id
  const server = sampleServer(alice, cellId)
  serverId = server.id
  const { db } = api.gateway
  await db.transaction((tx) => queueServers(tx, [server]))
  for (const requestId of REQUESTS) {
    const action = { serverId, requestId, action: 'reboot', message: null, ...alice }
    await db.transaction((tx) => queueActions(tx, [action]))
  }
  const event = {
    serverId,
    requestId: 'req-1',
    event: 'compute_reboot_instance',
    startedAt: 1_000,
    finishedAt: 2_000,
    result: 'Success' as const,
    host: 'west-1',
    details: 'for operators',
  }
  await db.transaction((tx) => queueActionEvents(tx, cellId, [event]))
})

afterAll(() => api?.[Symbol.asyncDispose]())

interface ActionList {
  readonly instanceActions: readonly { readonly request_id: string }[]
  readonly links?: readonly [{ readonly href: string }]
}
interface OneAction {
  readonly instanceAction: { readonly events?: readonly Readonly<Record<string, unknown>>[] }
}
const list = (client: ApiClient, query = '', version: Microversion = '2.58') =>
  client.call<ActionList>('listInstanceActions', {
    params: { server_id: serverId },
    query,
    version,
  })
const show = (client: ApiClient, version: Microversion, request_id = 'req-1') =>
  client.call<OneAction>('showInstanceAction', {
    params: { server_id: serverId, request_id },
    version,
  })

test('actions are listed newest first, and paged from 2.58 on', async () => {
  const ids = async (query: string) =>
    (await list(alice, query)).body.instanceActions.map((each) => each.request_id)
  const all = await ids('')
  expect(all.toSorted()).toEqual(REQUESTS)
  const first = await list(alice, '?limit=2')
  const next = new URL(first.body.links![0].href).search
  expect([
    ...first.body.instanceActions.map((each) => each.request_id),
    ...(await ids(next)),
  ]).toEqual(all)
  expect((await list(alice, '?marker=req-9')).status).toBe(400)
  expect(await ids('?changes-since=2999-01-01T00:00:00Z')).toEqual([])
  expect((await list(alice, '', '2.1')).body.instanceActions).toHaveLength(3)
})

test('events of an action are shown to administrators, and from 2.51 on to users without hosts and details', async () => {
  expect((await show(alice, '2.1')).body.instanceAction).not.toHaveProperty('events')
  const [whole] = (await show(admin, '2.84')).body.instanceAction.events!
  expect(whole).toMatchObject({ host: 'west-1', details: 'for operators', result: 'Success' })
  const [seen] = (await show(alice, '2.84')).body.instanceAction.events!
  expect(seen).toEqual({
    event: 'compute_reboot_instance',
    start_time: '1970-01-01T00:00:01.000000',
    finish_time: '1970-01-01T00:00:02.000000',
    result: 'Success',
    hostId: expect.stringMatching(/^[0-9a-f]{56}$/),
  })
})

test('unknown actions, and those of other projects, are not found', async () => {
  expect((await show(alice, '2.1', 'req-9')).status).toBe(404)
  expect((await show(bob, '2.1')).status).toBe(404)
  expect((await list(bob)).status).toBe(404)
})
