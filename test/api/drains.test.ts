import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { ApiClient } from '#test/env/api/client.ts'
import { type Operation, showOperation, untilOperation } from '#test/env/api/operations.ts'
import {
  activeServer,
  deleteServer,
  SERVERS,
  showServer,
  smallServer,
  untilStatus,
} from '#test/env/api/servers.ts'
import { type Cloud, startCloud } from '#test/env/cloud.ts'
import { expectInvariants } from '#test/env/invariants.ts'
import { WeirCommand } from '#test/env/weir-command.ts'

// Goal: a drained host is empty in the end, its servers are elsewhere as they were, and what stays says why.

interface Host {
  readonly id: string
  readonly name: string
}

const ROOT = '/federation/v1'

let cloud: Cloud
let demo: ApiClient
let admin: ApiClient
let hosts: readonly Host[]

beforeAll(async () => {
  const gateway = { GATEWAY_SHELVED_OFFLOAD_TIME_S: '-1' }
  cloud = await startCloud({ cells: 1, hostsPerCell: 3, gateway })
  demo = cloud.as('demo')
  admin = cloud.as('admin')
  hosts = (await admin.get<{ hosts: readonly Host[] }>(`${ROOT}/hosts`)).body.hosts
})
beforeEach(async () => {
  for (const { id } of hosts) await cordon(id, false)
})
afterAll(async () => {
  await expectInvariants(cloud)
  await cloud?.[Symbol.asyncDispose]()
})

const cordon = (id: string, isCordoned: boolean) =>
  admin.call('PATCH', `${ROOT}/hosts/${id}`, { is_cordoned: isCordoned })

async function drained(host: Host, body: object = {}): Promise<string> {
  const { status, body: begun } = await admin.post<Operation>(
    `${ROOT}/hosts/${host.id}/drain`,
    body,
  )
  expect(status).toBe(202)
  return begun.id
}

const shown = (id: string) => showOperation(admin, id)
const until = (id: string, is: (operation: Operation) => boolean) => untilOperation(admin, id, is)

async function serverOn(host: Host, name: string): Promise<string> {
  for (const other of hosts) await cordon(other.id, other.id !== host.id)
  const { id } = await activeServer(cloud, demo, { name })
  for (const other of hosts) await cordon(other.id, false)
  return id
}

const hostOf = async (id: string) => (await showServer(admin, id))['OS-EXT-SRV-ATTR:host']
const act = (id: string, action: object) => demo.post(`${SERVERS}/${id}/action`, action)

test('running servers move live, others cold, shelved ones are offloaded, and the host is empty', async () => {
  const [host] = hosts as [Host, ...Host[]]
  const [running, other] = [await serverOn(host, 'running'), await serverOn(host, 'other')]
  const stopped = await serverOn(host, 'stopped')
  await act(stopped, { 'os-stop': null })
  await untilStatus(demo, stopped, 'SHUTOFF')
  const shelved = await serverOn(host, 'shelved')
  await act(shelved, { shelve: null })
  await untilStatus(demo, shelved, 'SHELVED')

  const id = await drained(host, { reason: 'disks', parallel: 2 })
  const ended = await until(id, ({ state }) => state !== 'running')

  expect(ended).toMatchObject({ state: 'done', remaining: 0, message: null })
  const methods = ended.moves!.map(({ server_id, state, method }) => [server_id, state, method])
  expect(Object.fromEntries(methods.map(([server, ...rest]) => [server, rest]))).toEqual({
    [running]: ['moved', 'live'],
    [other]: ['moved', 'live'],
    [stopped]: ['moved', 'cold'],
    [shelved]: ['moved', 'offload'],
  })
  for (const [server, status] of [
    [running, 'ACTIVE'],
    [other, 'ACTIVE'],
    [stopped, 'SHUTOFF'],
    [shelved, 'SHELVED_OFFLOADED'],
  ] as const) {
    expect(await hostOf(server)).not.toBe(host.name)
    await untilStatus(demo, server, status)
    await deleteServer(demo, server)
  }
})

test('what cannot move says why, holds up no other, and moves once it can', async () => {
  const [, host] = hosts as [Host, Host, Host]
  const [held, free] = [await serverOn(host, 'held'), await serverOn(host, 'free')]
  await act(held, { suspend: null })
  await untilStatus(demo, held, 'SUSPENDED')

  const id = await drained(host)
  const waits = await until(id, ({ remaining, message }) => remaining === 1 && message !== null)

  expect(waits.message).toMatch(/^1 server is left\. held waits: .*suspended/)
  expect(await hostOf(free)).not.toBe(host.name)
  expect(await hostOf(held)).toBe(host.name)
  await act(held, { resume: null })
  expect(await until(id, ({ state }) => state !== 'running')).toMatchObject({ state: 'done' })
  expect(await hostOf(held)).not.toBe(host.name)
  for (const each of [held, free]) await deleteServer(demo, each)
})

test('without room the servers stay and run, until the time is up', async () => {
  const [host] = hosts as [Host, ...Host[]]
  const { body: made } = await demo.post<{ server_group: { id: string } }>(
    '/compute/v2.1/os-server-groups',
    { server_group: { name: 'apart', policies: ['anti-affinity'] } },
  )
  const group = made.server_group.id
  const servers: string[] = []
  for (const _ of hosts) {
    const hint = { 'os:scheduler_hints': { group } }
    const { body } = await demo.post<{ server: { id: string } }>(SERVERS, {
      ...smallServer(cloud, { name: 'stays' }),
      ...hint,
    })
    servers.push((await untilStatus(demo, body.server.id, 'ACTIVE')).id)
  }
  const names = await Promise.all(servers.map(hostOf))
  const id = servers[names.indexOf(host.name)]!

  // Long enough for both tries, and over before the next.
  const operation = await drained(host, { deadline_s: 12 })
  const ended = await until(operation, ({ state }) => state !== 'running')

  expect(ended.state).toBe('failed')
  expect(ended.message).toContain('The time was up. 1 server is left. stays waits: No valid host')
  expect(ended.moves).toMatchObject([{ server_id: id, state: 'waiting', method: 'cold', tries: 2 }])
  expect(await showServer(demo, id)).toMatchObject({ status: 'ACTIVE' })
  expect(await hostOf(id)).toBe(host.name)
  for (const each of servers) await deleteServer(demo, each)
  await demo.delete(`/compute/v2.1/os-server-groups/${group}`)
})

test('while no other host serves nothing is tried, and the servers move as soon as one does', async () => {
  const [host, other, down] = hosts as [Host, Host, Host]
  const id = await serverOn(host, 'patient')
  await cordon(other.id, true)
  await cordon(down.id, true)

  const operation = await drained(host)
  const waits = await until(operation, ({ message }) => message !== null)

  expect(waits.message).toMatch(/^1 server is left\. patient waits: No valid host was found\./)
  expect(waits.message).toContain('Every other host of its cell is cordoned, or does not answer.')
  expect(waits.moves).toMatchObject([{ server_id: id, state: 'waiting', method: null, tries: 0 }])
  await cordon(other.id, false)
  const ended = await until(operation, ({ state }) => state !== 'running')
  expect(ended).toMatchObject({ state: 'done', remaining: 0 })
  expect(ended.moves).toMatchObject([{ state: 'moved', method: 'live', tries: 1 }])
  expect(await hostOf(id)).toBe(other.name)
  await deleteServer(demo, id)
})

test('of a cell that is drained whole no server moves to another host of it', async () => {
  const [first, second] = hosts as [Host, Host, Host]
  const servers = [await serverOn(first, 'first'), await serverOn(second, 'second')]
  const command = new WeirCommand(cloud, 'admin')

  const operations = await command.json<readonly Operation[]>('cell drain north --to-other-cells')

  const seen: Operation[] = []
  for (const { id } of operations)
    seen.push(await until(id, ({ state, message }) => state !== 'running' || message !== null))
  const moves = seen.flatMap(({ moves: own = [] }) => own)
  const idsOf = (isRunning: boolean) =>
    seen.flatMap(({ id, state }) => ((state === 'running') === isRunning ? [id] : []))
  // The third host has no server, so that its drain has ended.
  const [ended, running] = [idsOf(false), idsOf(true)]
  const line = `operation cancel ${[...ended, ...running].join(' ')} -o json`
  const cancelled = await command.run(line)
  expect(ended).toHaveLength(1)
  expect(cancelled).toMatchObject({ code: 1 })
  expect(cancelled.err).toContain(`Operation ${ended[0]} has ended already.`)
  expect(JSON.parse(cancelled.out)).toMatchObject(running.map((id) => ({ id, state: 'cancelled' })))
  expect(moves.map(({ method }) => method)).toEqual(['cell', 'cell'])
  for (const { reason } of moves) expect(reason).toContain('there is no other cell')
  expect(await Promise.all(servers.map(hostOf))).toEqual([first.name, second.name])
  await command.run('cell enable north')
  for (const id of servers) await deleteServer(demo, id)
})

test('servers of a host that is down wait until an operator says that none of them runs', async () => {
  const [host] = hosts as [Host, ...Host[]]
  const [running, stopped] = [await serverOn(host, 'running'), await serverOn(host, 'stopped')]
  await act(stopped, { 'os-stop': null })
  await untilStatus(demo, stopped, 'SHUTOFF')
  const forceDown = (forced_down: boolean) =>
    admin.put(
      '/compute/v2.1/os-services/force-down',
      { host: host.name, binary: 'nova-compute', forced_down },
      { version: '2.11' },
    )
  await forceDown(true)
  const id = await drained(host)
  const waits = await until(id, ({ message }) => message !== null)
  expect(waits.message).toMatch(/^2 servers are left\. (running|stopped) waits: Its host does not/)

  expect(await drained(host, { evacuate: true })).toBe(id)
  const ended = await until(id, ({ state }) => state !== 'running')

  expect(ended).toMatchObject({ state: 'done', remaining: 0 })
  expect(ended.moves!.map(({ state, method }) => [state, method])).toEqual(
    Array(2).fill(['moved', 'evacuate']),
  )
  await untilStatus(demo, running, 'ACTIVE')
  await untilStatus(demo, stopped, 'SHUTOFF')
  await forceDown(false)
  for (const each of [running, stopped]) await deleteServer(demo, each)
})

test('a drain that moves nothing waits, and one that is cancelled begins no move', async () => {
  const [host] = hosts as [Host, ...Host[]]
  const id = await serverOn(host, 'waited-for')
  const operation = await drained(host, { move: false })
  const counted = await until(operation, ({ remaining }) => remaining === 1)

  expect(counted).toMatchObject({ state: 'running', message: null })
  expect(counted.moves).toBeUndefined()
  await admin.post(`${ROOT}/operations/${operation}/cancel`)
  expect(await shown(operation)).toMatchObject({ state: 'cancelled' })
  expect(await hostOf(id)).toBe(host.name)
  await deleteServer(demo, id)
})
