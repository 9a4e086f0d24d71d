import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import type { ApiClient, Loose } from '#test/env/api/client.ts'
import {
  activeServer,
  createServer,
  SERVERS,
  type Server,
  smallServer,
  untilGone,
  untilStatus,
} from '#test/env/api/servers.ts'
import { type Cloud, startCloud } from '#test/env/cloud.ts'
import { WeirCommand } from '#test/env/weir-command.ts'

const POLICIES = '/federation/v1/placement-policies'
const CELLS = '/federation/v1/cells'

let cloud: Cloud
let demo: ApiClient
let admin: ApiClient
let project: string

beforeAll(async () => {
  cloud = await startCloud({ gateways: 1, cells: 2, hostsPerCell: 1, processesPerCell: 1 })
  demo = cloud.as('demo')
  admin = cloud.as('admin')
  const { body } = await demo.get<{ server: Server }>(
    `${SERVERS}/${(await activeServer(cloud, demo)).id}`,
  )
  project = String(body.server['tenant_id'])
})

afterAll(() => cloud?.[Symbol.asyncDispose]())

afterEach(async () => {
  const { body } = await demo.get<{ servers: readonly Server[] }>(SERVERS)
  await Promise.all(body.servers.map(({ id }) => demo.delete(`${SERVERS}/${id}`)))
  for (const { id } of body.servers) await untilGone(demo, id)
  const policies = await admin.get<{ placement_policies: readonly { id: string }[] }>(POLICIES)
  for (const { id } of policies.body.placement_policies) await admin.delete(`${POLICIES}/${id}`)
  for (const cell of ['north', 'south']) await setCell(cell, { labels: {}, taints: [] })
})

const makePolicy = async (name: string, content: object = {}): Promise<Loose> => {
  const { status, body } = await admin.post<Loose>(POLICIES, { name, ...content })
  expect(status).toBe(201)
  return body
}

/** Afterwards the cell is so at the one gateway. */
const setCell = async (cell: string, change: object): Promise<void> => {
  const { status } = await admin.call('PATCH', `${CELLS}/${cell}`, change)
  expect(status).toBe(200)
}

const bootCell = async (change: object = {}): Promise<string> =>
  String((await activeServer(cloud, demo, change))['OS-EXT-AZ:availability_zone'])

const hinted = (policy: string) => ({
  ...smallServer(cloud),
  'os:scheduler_hints': { policy },
})

const cellDecision = async (server: string): Promise<Loose> => {
  const { body } = await admin.get<{ decisions: readonly Loose[] }>(
    `/federation/v1/servers/${server}/trace`,
  )
  return body.decisions.find(({ level }) => level === 'cells')!
}

test('a tainted cell gets the servers of those whose policy tolerates it, and the trace names the policy', async () => {
  await setCell('north', { taints: [{ key: 'dedicated', value: 'demo', effect: 'NoSchedule' }] })
  await setCell('south', { taints: [{ key: 'works', value: '', effect: 'NoSchedule' }] })

  const refused = await createServer(cloud, demo)
  await expect(untilStatus(demo, refused, 'ACTIVE')).rejects.toThrow('TaintTolerationFilter')
  expect(await cellDecision(refused)).toMatchObject({ policy: null, chosen: null })

  const policy = await makePolicy('research', {
    projects: [project],
    tolerations: [{ key: 'dedicated', value: 'demo' }],
  })
  expect(policy).toMatchObject({
    projects: [project],
    tolerations: [{ key: 'dedicated', value: 'demo', effect: null }],
  })
  const { id } = await activeServer(cloud, demo)
  expect(await cellDecision(id)).toMatchObject({
    policy: { name: 'research', bound_by: 'project' },
    chosen: 'north',
  })

  const dry = async (more: object) => {
    const asked = { flavor: 'm1.tiny', image: 'tiny', ...more }
    return (await admin.post<Loose>('/federation/v1/placements', asked)).body
  }
  expect(await dry({})).toMatchObject({ cell: null, decisions: [{ policy: null }] })
  const decisions = [{ policy: { name: 'research', bound_by: 'project' } }, { policy: null }]
  expect(await dry({ project })).toMatchObject({ cell: 'north', decisions })
})

test('users choose the policies that they may, and a policy keeps no server from staying', async () => {
  await setCell('south', { taints: [{ key: 'cloud', value: '', effect: 'NoSchedule' }] })
  const refused = await demo.post<Loose>(SERVERS, hinted('burst'))
  expect(refused.status).toBe(400)
  expect(JSON.stringify(refused.body)).toContain("no placement policy 'burst'")

  await makePolicy('burst', { is_selectable: true, tolerations: [{ key: 'cloud' }] })
  await setCell('north', { is_enabled: false })
  const { body } = await demo.post<{ server: { id: string } }>(SERVERS, hinted('burst'))
  await untilStatus(demo, body.server.id, 'ACTIVE')
  await setCell('north', { is_enabled: true })
  expect(await cellDecision(body.server.id)).toMatchObject({
    policy: { name: 'burst', bound_by: 'hint' },
    chosen: 'south',
  })

  expect((await admin.delete(`${POLICIES}/burst`)).status).toBe(204)
  const { body: shown } = await demo.get<{ server: Server }>(`${SERVERS}/${body.server.id}`)
  expect(shown.server).toMatchObject({ status: 'ACTIVE', 'OS-EXT-AZ:availability_zone': 'south' })
})

test('a project has one policy, an old reader changes none, and unknown objects are refused', async () => {
  const first = await makePolicy('first', { projects: [project], is_default: true })
  const again = await admin.post<Loose>(POLICIES, { name: 'first' })
  expect([again.status, again.body['detail']]).toEqual([
    409,
    'There is a placement policy first already.',
  ])
  for (const taken of [{ projects: [project] }, { is_default: true }]) {
    const second = await admin.post<Loose>(POLICIES, { name: 'second', ...taken })
    expect(second.status).toBe(409)
    expect(second.body['detail']).toContain('has the placement policy first already')
  }
  expect((await admin.get(`${POLICIES}/second`)).status).toBe(404)
  const unknown = await admin.post<Loose>(POLICIES, { name: 'third', flavors: ['none'] })
  expect([unknown.status, unknown.body['detail']]).toEqual([
    400,
    'There is no flavor with the id or name none.',
  ])

  const costly = await admin.post<Loose>(POLICIES, { name: 'third', cost_weight: 1 })
  expect([costly.status, costly.body['detail']]).toEqual([
    400,
    'cost_weight 1 has no effect: this gateway has no prices. Set GATEWAY_PRICES_FILE first.',
  ])

  const path = `${POLICIES}/${String(first['id'])}`
  const change = (tag: string, body: object) =>
    admin.call<Loose>('PATCH', path, body, { headers: { 'If-Match': tag } })
  const changed = await change('"0"', { projects: [] })
  expect(changed.body).toMatchObject({ name: 'first', projects: [], is_default: true })
  expect((await change('"0"', { is_default: false })).status).toBe(412)
  expect(await makePolicy('second', { projects: [project] })).toMatchObject({ flavors: [] })
  expect((await demo.get(POLICIES)).status).toBe(403)
  const twice = [
    { key: 'a', value: '1', effect: 'NoSchedule' },
    { key: 'a', value: '2', effect: 'NoSchedule' },
  ]
  const { status, body } = await admin.call<Loose>('PATCH', `${CELLS}/north`, { taints: twice })
  expect([status, body['detail']]).toEqual([
    400,
    'A cell can have only one taint a:NoSchedule: give it one value.',
  ])
})

test('the own site is filled first, and what it cannot take overflows into the cloud', async () => {
  await setCell('south', { labels: { site: 'berlin' }, weight: 0 })
  const preference = [{ labels: { site: 'berlin' } }, { cells: ['north'] }]
  await makePolicy('burst', { is_default: true, preference })

  expect(await bootCell()).toBe('south')
  expect(await bootCell()).toBe('south')
  await setCell('south', { is_enabled: false, weight: 1 })
  const { id } = await activeServer(cloud, demo)
  await setCell('south', { is_enabled: true })
  expect(await cellDecision(id)).toMatchObject({
    policy: { name: 'burst', bound_by: 'default' },
    chosen: 'north',
  })
  const unknown = { preference: [{ cells: ['nowhere'] }] }
  const { status, body } = await admin.call<Loose>('PATCH', `${POLICIES}/burst`, unknown)
  expect([status, body['detail']]).toEqual([
    400,
    'There is no cell nowhere. There are: north, south.',
  ])
})

test('the command line manages placement policies, and labels and taints of cells', async () => {
  const operator = new WeirCommand(cloud, 'admin')
  const update = 'cell update south --label site=cloud --taint dedicated=lab:NoSchedule'
  expect(await operator.json(update)).toMatchObject({
    labels: { site: 'cloud' },
    taints: [{ key: 'dedicated', value: 'lab', effect: 'NoSchedule' }],
  })
  const create = 'policy create lab --project demo --tolerate dedicated=lab other:PreferNoSchedule'
  expect(await operator.json(create)).toMatchObject({
    name: 'lab',
    tolerations: [
      { key: 'dedicated', value: 'lab', effect: null },
      { key: 'other', value: null, effect: 'PreferNoSchedule' },
    ],
  })
  const [, row] = (await operator.run('policy list')).out.split('\n')
  expect(row).toMatch(/^lab +project \w{32} +dedicated=lab other:PreferNoSchedule/)
  const dry = await operator.run('why --flavor m1.tiny --image tiny --project demo')
  expect(dry.out).toContain('Placement policy lab applied: it applies to the project.\n')
  expect(await operator.json('policy update lab --no-project --default')).toMatchObject({
    projects: [],
    is_default: true,
  })
  expect(await operator.json('policy update lab --prefer north,site=cloud *')).toMatchObject({
    preference: [
      { cells: ['north'], labels: { site: 'cloud' } },
      { cells: [], labels: {} },
    ],
  })
  expect(await operator.run('policy update lab')).toMatchObject({ code: 2 })
  expect(await operator.run('policy show none')).toMatchObject({ code: 3 })
  expect(await operator.run('policy create lab2 --tolerate x:Never')).toMatchObject({ code: 2 })
  expect((await operator.run('policy delete lab')).err).toBe('Placement policy lab is deleted.\n')
  expect(await operator.json('cell update south --no-label --no-taint')).toMatchObject({
    labels: {},
    taints: [],
  })
})
