import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { waitFor } from '#common/wait-for.ts'
import type { ApiClient } from '#test/env/api/client.ts'
import {
  act,
  activeServer,
  askForServer,
  createServer,
  SERVERS,
  type Server,
  showServer,
  untilGone,
  untilSettled,
  untilStatus,
} from '#test/env/api/servers.ts'
import { makeStored, showStored } from '#test/env/api/volumes.ts'
import { type Cloud, startCloud } from '#test/env/cloud.ts'
import { expectInvariants } from '#test/env/invariants.ts'
import { storesReported } from '#test/env/stores-reported.ts'

const STALE = 'weir-stale'
const VOLUMES = '/volume/v3/volumes'
const INTENTS = '/federation/v1/intents'
const DARK_LIMIT_MS = 30_000

interface Intent {
  readonly id: string
  readonly server_id: string
  readonly action: string
}

let cloud: Cloud
let demo: ApiClient
const ids = new Map<string, string>()
/** In the cell that is killed: one that a server has, and one that is free. */
const volumes: string[] = []

const detail = (query: string) =>
  demo.get<{ servers: readonly Server[] }>(`${SERVERS}/detail?${query}`)
const names = async (query: string) => (await detail(query)).body.servers.map(({ name }) => name)

async function untilNothingIsStale(): Promise<void> {
  for (const gateway of [0, 1])
    await waitFor(
      'nothing to be stale',
      async () => (await demo.get(SERVERS, { gateway })).headers[STALE] === undefined,
      DARK_LIMIT_MS,
    )
}

async function countOf(path: string): Promise<number> {
  const { body } = await demo.get<Readonly<Record<string, readonly object[]>>>(path)
  return Object.values(body).flat().length
}

beforeAll(async () => {
  cloud = await startCloud()
  demo = cloud.as('demo')
  for (const [name, zone] of [
    ['a', 'north'],
    ['b', 'south'],
    ['c', 'north'],
    ['d', 'south'],
    ['kept', 'north'],
  ] as const)
    ids.set(name, (await activeServer(cloud, demo, { name, availability_zone: zone })).id)
  await act(demo, ids.get('c') ?? '', { 'os-stop': null })
  await untilSettled(cloud, ids.get('c') ?? '')
  await storesReported(cloud)
  for (const _ of [1, 2])
    volumes.push(await makeStored(demo, 'volume', { size: 1, availability_zone: 'north' }))
  const path = `${SERVERS}/${ids.get('a')}/os-volume_attachments`
  await demo.post(path, { volumeAttachment: { volumeId: volumes[0] } })
})

afterAll(async () => {
  await cloud?.[Symbol.asyncDispose]()
})

describe('with one cell killed', () => {
  beforeAll(async () => {
    for (const process of cloud.cell('north').processes) await process.kill()
    await waitFor(
      'both gateways to notice that a cell is unreachable',
      async () => {
        const answers = [
          await demo.get(SERVERS, { gateway: 0 }),
          await demo.get(SERVERS, { gateway: 1 }),
        ]
        return answers.every(({ headers }) => headers[STALE] !== undefined)
      },
      DARK_LIMIT_MS,
    )
  })

  test.each([
    ['', ['kept', 'd', 'c', 'b', 'a']],
    ['status=SHUTOFF', ['c']],
    ['status=ACTIVE&sort_key=display_name&sort_dir=asc', ['a', 'b', 'd', 'kept']],
    ['name=[ac]', ['c', 'a']],
    ['sort_key=display_name&sort_dir=asc&limit=3', ['a', 'b', 'c']],
  ])('the list by %s shows every server with its last status', async (query, expected) => {
    expect(await names(query)).toEqual(expected)
  })

  test('pages and markers reach over the servers of the unreachable cell', async () => {
    const order = 'sort_key=display_name&sort_dir=asc&limit=2'

    expect(await names(`${order}&marker=${ids.get('a')}`)).toEqual(['b', 'c'])
    expect(await names(`${order}&marker=${ids.get('c')}`)).toEqual(['d', 'kept'])
  })

  test('a header marks stale answers, and no others', async () => {
    const shown = await demo.get(`${SERVERS}/${ids.get('a')}`)
    const bright = await demo.get(`${SERVERS}/${ids.get('b')}`)

    expect(shown.headers[STALE]).toMatch(/^\d+/)
    expect(bright.headers[STALE]).toBeUndefined()
    expect(shown.body).toMatchObject({ server: { status: 'ACTIVE', name: 'a' } })
  })

  test('new servers go to the other cell; those for the unreachable cell alone get 503', async () => {
    const server = await activeServer(cloud, demo, { name: 'new' })
    expect(server['OS-EXT-AZ:availability_zone']).toBe('south')

    const reboot = await act(demo, ids.get('a') ?? '', { reboot: { type: 'HARD' } })
    const [had, other] = volumes
    const swap = await cloud
      .as('admin')
      .put(`${SERVERS}/${ids.get('a')}/os-volume_attachments/${had}`, {
        volumeAttachment: { volumeId: other },
      })

    for (const refused of [reboot, swap]) {
      expect(refused.status).toBe(503)
      expect(refused.headers['retry-after']).toMatch(/^\d+$/)
    }
    expect(await showStored(demo, 'volume', other ?? '')).toMatchObject({ status: 'available' })
    expect((await demo.delete(`${SERVERS}/${server.id}`)).status).toBe(204)
    await untilGone(demo, server.id)
  })

  test('names, metadata, tags and locks change as ever', async () => {
    const path = `${SERVERS}/${ids.get('c')}`
    const statuses = [
      await demo.put(path, { server: { name: 'renamed' } }),
      await demo.post(`${path}/metadata`, { metadata: { key: 'value' } }),
      await demo.put(`${path}/tags/kept`, undefined, { version: '2.26' }),
      await act(demo, ids.get('c') ?? '', { lock: null }),
    ].map(({ status }) => status)

    expect(statuses).toEqual([200, 200, 201, 202])
    expect(await showServer(demo, ids.get('c') ?? '', '2.26')).toMatchObject({
      name: 'renamed',
      metadata: { key: 'value' },
      tags: ['kept'],
      locked: true,
    })
    expect((await act(demo, ids.get('c') ?? '', { unlock: null })).status).toBe(202)
  })

  test('deletes and power are accepted, shown, listed, cancelled, and done when the cell is back', async () => {
    const [a, c, kept] = [ids.get('a'), ids.get('c'), ids.get('kept')].map((id) => id ?? '') as [
      string,
      string,
      string,
    ]
    expect((await demo.delete(`${SERVERS}/${a}`)).status).toBe(204)
    expect((await demo.delete(`${SERVERS}/${kept}`)).status).toBe(204)
    expect((await act(demo, c, { 'os-start': null })).status).toBe(202)
    expect((await act(demo, a, { 'os-stop': null })).status).toBe(409)
    expect((await showServer(demo, a))['OS-EXT-STS:task_state']).toBe('deleting')
    expect((await showServer(demo, c))['OS-EXT-STS:task_state']).toBe('powering-on')
    expect(await names('status=SHUTOFF')).toEqual(['renamed'])

    const listed = async (client: ApiClient, query = '') =>
      (await client.get<{ intents: readonly Intent[] }>(`${INTENTS}${query}`)).body.intents
    expect((await listed(demo)).map(({ action, server_id: id }) => [action, id])).toEqual([
      ['delete', a],
      ['delete', kept],
      ['start', c],
    ])
    expect(await listed(cloud.as('admin'), `?cell=north&server=${c}`)).toHaveLength(1)
    expect(await listed(cloud.as('stranger'))).toEqual([])
    expect((await demo.get(`${INTENTS}?cell=nowhere`)).status).toBe(403)
    const [{ id: intent } = { id: '' }] = await listed(demo, `?server=${kept}`)
    expect((await cloud.as('stranger').delete(`${INTENTS}/${intent}`)).status).toBe(404)
    expect((await cloud.as('auditor').delete(`${INTENTS}/${intent}`)).status).toBe(403)
    expect((await demo.delete(`${INTENTS}/${intent}`)).status).toBe(204)
    expect((await demo.delete(`${INTENTS}/${intent}`)).status).toBe(404)

    for (const process of cloud.cell('north').processes) await process.start()

    await untilGone(demo, a, 30_000)
    await untilStatus(demo, c, 'ACTIVE')
    expect(await showServer(demo, kept)).toMatchObject({ status: 'ACTIVE' })
    expect(await listed(demo)).toEqual([])
    await untilNothingIsStale()
    await untilStatus(
      demo,
      await createServer(cloud, demo, { availability_zone: 'north' }),
      'ACTIVE',
    )
  })
})

test('with all cells killed new servers and volumes are refused with 503, and nothing is left of them', async () => {
  const processes = ['north', 'south'].flatMap((name) => cloud.cell(name).processes)
  const before = [await countOf(SERVERS), await countOf(VOLUMES)]
  await Promise.all(processes.map((process) => process.kill()))
  for (const gateway of [0, 1])
    await waitFor(
      'a gateway to notice that no cell can be reached',
      async () => {
        const shown = ['b', 'c'].map((name) => demo.get(`${SERVERS}/${ids.get(name)}`, { gateway }))
        return (await Promise.all(shown)).every(({ headers }) => headers[STALE] !== undefined)
      },
      DARK_LIMIT_MS,
    )

  // Each waits for a while for a cell to come back.
  const asked = [0, 1].flatMap((gateway) => [
    askForServer(cloud, demo, {}, { gateway }),
    demo.post(VOLUMES, { volume: { size: 1 } }, { gateway }),
  ])
  for (const { status, headers } of await Promise.all(asked))
    expect([status, headers['retry-after']]).toEqual([503, expect.stringMatching(/^\d+$/)])
  expect([await countOf(SERVERS), await countOf(VOLUMES)]).toEqual(before)
  await Promise.all(processes.map((process) => process.start()))
  await untilNothingIsStale()
  await makeStored(demo, 'volume', { size: 1 })
  await expectInvariants(cloud)
})
