import { cpSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { waitFor } from '#common/wait-for.ts'
import { TestMachine } from '#drivers/baremetal/testing/test-machine.ts'
import type { ApiClient } from '#test/env/api/client.ts'
import { endOfOperation, type Operation } from '#test/env/api/operations.ts'
import {
  act,
  deleteServer,
  SERVERS,
  showServer,
  smallServer,
  untilStatus,
} from '#test/env/api/servers.ts'
import type { CloudHost } from '#test/env/cloud/cloud-host.ts'
import { type Cloud, startCloud } from '#test/env/cloud.ts'
import { expectInvariants } from '#test/env/invariants.ts'

// Goal: servers of a host that fails run again elsewhere, once its machine is known to be off, and never before.

const ROOT = '/federation/v1'
const SEEN_LIMIT_MS = 60_000

interface Host {
  readonly id: string
  readonly name: string
  readonly is_up: boolean
  readonly is_cordoned: boolean
  readonly fenced_at: string | null
  readonly fence_problem: string | null
  readonly fence_device: { readonly name: string; readonly problem: string | null } | null
}

const folder = mkdtempSync(join(tmpdir(), 'weir-fencing-'))
/** Of the machine that a fence agent switches: there while it is on. */
const powerFile = join(folder, 'power')
/** A fence agent, in Debian's form, whose machine is a file. */
const AGENT = `#!/bin/sh
cd '${folder}' && cat > asked && action=$(sed -n s/^action=//p asked)
case $action in
  metadata) cat fence_virsh.xml ;;
  validate-all) grep -q ^password=secret$ asked ;;
  status) if [ -e power ]; then echo Status: ON; else echo Status: OFF; exit 2; fi ;;
  off) rm power ;;
esac
`
const machines = new Map<string, TestMachine>()
let cloud: Cloud
let demo: ApiClient
let admin: ApiClient
let hosts: readonly CloudHost[]

beforeAll(async () => {
  const password_file = join(folder, 'password')
  writeFileSync(password_file, 'secret')
  const devices: Record<string, object> = {}
  for (const name of ['north-1', 'north-2', 'north-3']) {
    const machine = await TestMachine.start('http://127.0.0.1:1', '52:54:00:00:00:01')
    machine.isOn = true
    machines.set(name, machine)
    const { address: bmc, port } = machine.enrolment.bmc!
    devices[name] = { bmc, port, user: 'admin', password_file }
  }
  const recorded = new URL('../../drivers/fence-agents/testing/fence_virsh.xml', import.meta.url)
  cpSync(recorded, join(folder, 'fence_virsh.xml'))
  writeFileSync(join(folder, 'fence_file'), AGENT, { mode: 0o755 })
  writeFileSync(powerFile, '')
  const parameters = { ip: '192.0.2.3', username: 'root', plug: 'north-1' }
  devices['north-1'] = { agent: 'fence_file', parameters, password_file }
  const file = join(folder, 'devices.json')
  writeFileSync(file, JSON.stringify(devices))
  cloud = await startCloud({
    ...{ cells: 1, hostsPerCell: 3 },
    cell: {
      CELL_FENCE_DEVICES_FILE: file,
      CELL_FENCE_AGENTS_DIRECTORY: folder,
      CELL_FENCE_HOSTS_AFTER_S: '5',
    },
  })
  demo = cloud.as('demo')
  admin = cloud.as('admin')
  hosts = cloud.hosts
})

afterEach(async () => {
  for (const host of hosts) await repair(host)
})

afterAll(async () => {
  await expectInvariants(cloud)
  await cloud?.[Symbol.asyncDispose]()
  for (const machine of machines.values()) await machine[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true, force: true })
})

const machineOf = ({ name }: CloudHost) => machines.get(name)!
const shown = async ({ id }: CloudHost) => (await admin.get<Host>(`${ROOT}/hosts/${id}`)).body
const cordon = ({ id }: CloudHost, is_cordoned: boolean) =>
  admin.call('PATCH', `${ROOT}/hosts/${id}`, { is_cordoned })
const hostOf = async (id: string) => (await showServer(admin, id))['OS-EXT-SRV-ATTR:host']
/** What `./weir why` says of the server's host. */
const problemOf = async (id: string) => {
  const path = `${ROOT}/servers/${id}/trace`
  return (await admin.get<{ readonly host_problem: string | null }>(path)).body.host_problem
}

function until(host: CloudHost, is: (host: Host) => boolean): Promise<Host> {
  const seen = async () => {
    const found = await shown(host)
    return is(found) ? found : undefined
  }
  return waitFor(`host ${host.name}`, seen, SEEN_LIMIT_MS)
}

/** As when the machine is switched on again. */
async function repair(host: CloudHost): Promise<void> {
  const machine = machineOf(host)
  machine.silence(false)
  machine.isOn = true
  writeFileSync(powerFile, '')
  if (!host.process.isRunning) await host.process.start()
  await until(host, ({ is_up }) => is_up)
  await cordon(host, false)
}

interface Wish {
  readonly name: string
  readonly hint?: string
  readonly flavorRef?: string
}

/** Servers of a user on the host, in the order of the wishes. */
async function serversOn(
  host: CloudHost,
  user: ApiClient,
  wishes: readonly Wish[],
): Promise<readonly string[]> {
  for (const other of hosts) await cordon(other, other !== host)
  const ids = await Promise.all(
    wishes.map(async ({ hint, ...change }) => {
      const hints = hint === undefined ? {} : { 'os:scheduler_hints': { policy: hint } }
      const { body } = await user.post<{ readonly server: { readonly id: string } }>(SERVERS, {
        ...smallServer(cloud, change),
        ...hints,
      })
      return (await untilStatus(user, body.server.id, 'ACTIVE')).id
    }),
  )
  for (const other of hosts) await cordon(other, false)
  for (const id of ids) expect(await hostOf(id)).toBe(host.name)
  return ids
}

async function serverOn(host: CloudHost, name: string): Promise<string> {
  const [id] = await serversOn(host, demo, [{ name }])
  return id!
}

async function evacuationOf(host: CloudHost): Promise<Operation> {
  const { operations } = (
    await admin.get<{
      operations: readonly (Operation & { subject: string; subject_id: string })[]
    }>(`${ROOT}/operations`)
  ).body
  const [newest] = operations.filter(({ subject_id }) => subject_id === host.id)
  return endOfOperation(admin, newest!.id)
}

/** What became of the host, oldest first. */
async function eventsOf({ name }: CloudHost): Promise<readonly (readonly [string, string])[]> {
  const { body } = await admin.get<{
    events: readonly { host: string | null; state: string; message: string | null }[]
  }>(`${ROOT}/events?type=host.state`)
  return body.events
    .filter(({ host }) => host === name)
    .map(({ state, message }) => [state, message ?? ''] as const)
}

/** Of the server, by the policies. */
async function decisionsOn(id: string): Promise<readonly string[]> {
  const { body } = await admin.get<{
    events: readonly { action: string | null; message: string | null }[]
  }>(`${ROOT}/events?server=${id}`)
  return body.events
    .filter(({ action }) => action === 'host failure')
    .map(({ message }) => message ?? '')
}

/** Newest first, each with its message if it has one. */
async function actionsOn(id: string): Promise<readonly string[]> {
  const { body } = await admin.get<{
    instanceActions: readonly { action: string; message: string | null }[]
  }>(`/compute/v2.1/servers/${id}/os-instance-actions`)
  return body.instanceActions.map(({ action, message }) =>
    message === null ? action : `${action}: ${message}`,
  )
}

const STARTS = (policy: string) =>
  `It is started again with its host, as placement policy ${policy} says.`
const STAYS = (policy: string) =>
  `It stays on its host, and is not started with it, as placement policy ${policy} says.`

test('servers of a host that fails run on others once its machine is off, start with it, or stay off, as the policy of their hint, their project or their flavor says', async () => {
  const [host] = hosts as readonly [CloudHost, ...CloudHost[]]
  const { small: flavorRef } = cloud.catalog
  for (const policy of [
    { name: 'pets', is_selectable: true, on_host_failure: 'none' },
    { name: 'lively', is_selectable: true, on_host_failure: 'evacuate' },
    { name: 'of-project', projects: ['admin'], on_host_failure: 'none' },
    { name: 'of-flavor', flavors: ['m1.small'], on_host_failure: 'restart' },
  ])
    expect((await admin.post(`${ROOT}/placement-policies`, policy)).status).toBe(201)
  const [moved, waits, off] = (await serversOn(host, demo, [
    { name: 'moved' },
    { name: 'waits', flavorRef },
    { name: 'off', flavorRef, hint: 'pets' },
  ])) as [string, string, string]
  const [ofProject, lively] = (await serversOn(host, admin, [
    { name: 'of-project', flavorRef },
    { name: 'lively', hint: 'lively' },
  ])) as [string, string]
  const { fence_device } = await until(host, (seen) => seen.fence_device !== null)
  expect(fence_device).toEqual({ name: 'fence_file', problem: null })

  await host.losePower()
  await until(host, ({ fenced_at }) => fenced_at !== null)
  expect(existsSync(powerFile)).toBe(false)
  const done = await waitFor(
    'the evacuation',
    async () => {
      const operation = await evacuationOf(host).catch(() => undefined)
      return operation?.state === 'done' ? operation : undefined
    },
    SEEN_LIMIT_MS,
  )

  expect(done.message).toBe(
    'The rest stay on the host, as their placement policies say: 3 servers.',
  )
  const moves = done.moves!.map(({ server_id, state, method }) => [server_id, [state, method]])
  expect(Object.fromEntries(moves)).toEqual({
    [moved]: ['moved', 'evacuate'],
    [lively]: ['moved', 'evacuate'],
    [waits]: ['waiting', null],
    [off]: ['waiting', null],
    [ofProject]: ['waiting', null],
  })
  for (const id of [moved, lively]) {
    await untilStatus(admin, id, 'ACTIVE')
    expect(await hostOf(id)).not.toBe(host.name)
    expect([await problemOf(id), await decisionsOn(id)]).toEqual([null, []])
  }
  const fenced = /^Host north-1 did not answer, and was fenced at .*Z\. /
  for (const [id, why, status] of [
    [waits, STARTS('of-flavor'), 'ACTIVE'],
    [off, STAYS('pets'), 'SHUTOFF'],
    [ofProject, STAYS('of-project'), 'SHUTOFF'],
  ] as const) {
    const server = await showServer(admin, id)
    expect([server.status, await hostOf(id)]).toEqual([status, host.name])
    const problem = await problemOf(id)
    expect([problem, problem?.replace(fenced, '')]).toEqual([expect.stringMatching(fenced), why])
    expect(await decisionsOn(id)).toEqual([why])
  }
  expect((await eventsOf(host)).at(-1)).toEqual(['fenced', 'It did not answer, and was fenced.'])

  writeFileSync(powerFile, '')
  await host.process.start()
  const back = await until(host, ({ is_up }) => is_up)

  expect(back).toMatchObject({ fenced_at: null, is_cordoned: true })
  await expect.poll(() => actionsOn(waits), { timeout: SEEN_LIMIT_MS }).toEqual(['start', 'create'])
  await untilStatus(demo, waits, 'ACTIVE')
  expect(await problemOf(waits)).toBeNull()
  await expect
    .poll(async () => new Set(await host.guests()), { timeout: SEEN_LIMIT_MS })
    .toEqual(new Set([waits, off, ofProject]))
  for (const id of [off, ofProject]) {
    await untilStatus(admin, id, 'SHUTOFF')
    expect(await actionsOn(id)).toEqual(['stop', 'create'])
  }
  await act(demo, off, { 'os-start': null })
  await untilStatus(demo, off, 'ACTIVE')
  for (const id of [moved, waits, off, ofProject, lively]) await deleteServer(admin, id)
})

test('servers wait while the machine cannot be powered off, and the host says why', async () => {
  const [, host] = hosts as readonly [CloudHost, CloudHost, ...CloudHost[]]
  const id = await serverOn(host, 'waiting')
  const seen = await until(host, ({ fence_device }) => fence_device !== null)
  expect(seen.fence_device).toEqual({ name: 'BMC 127.0.0.1', problem: null })
  machineOf(host).silence(true)

  await host.process.kill()
  const held = await until(host, ({ is_up, fence_problem }) => !is_up && fence_problem !== null)

  expect(held.fence_problem).toMatch(/^It could not be fenced by BMC 127\.0\.0\.1: /)
  expect(held.fenced_at).toBeNull()
  expect(await problemOf(id)).toBe(`Host ${host.name} does not answer. ${held.fence_problem}`)
  expect((await eventsOf(host)).at(-1)).toEqual(['down', held.fence_problem])
  expect(await hostOf(id)).toBe(host.name)
  machineOf(host).silence(false)
  await until(host, ({ fenced_at }) => fenced_at !== null)
  await waitFor('the server to move', async () => (await hostOf(id)) !== host.name, SEEN_LIMIT_MS)
  await untilStatus(demo, id, 'ACTIVE')
  await deleteServer(demo, id)
})

test('no host is fenced while most do not answer, and one that answers again keeps its servers', async () => {
  const [one, two] = hosts as readonly [CloudHost, CloudHost, CloudHost]
  const ids = [await serverOn(one, 'one'), await serverOn(two, 'two')] as const

  for (const host of [one, two]) host.process.freeze()
  for (const host of [one, two]) {
    const held = await until(host, ({ is_up, fence_problem }) => !is_up && fence_problem !== null)
    expect(held.fence_problem).toContain('2 of 3 hosts do not answer, and that is more than half')
  }
  for (const id of ids) expect(await problemOf(id)).toContain('2 of 3 hosts do not answer')
  for (const host of [one, two]) host.process.thaw()

  for (const [nth, host] of [one, two].entries()) {
    expect(await until(host, ({ is_up }) => is_up)).toMatchObject({
      ...{ fenced_at: null, fence_problem: null },
    })
    expect(machineOf(host).isOn).toBe(true)
    expect(await hostOf(ids[nth]!)).toBe(host.name)
    await untilStatus(demo, ids[nth]!, 'ACTIVE')
    await deleteServer(demo, ids[nth]!)
  }
})
