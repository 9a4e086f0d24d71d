import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { waitFor } from '#common/wait-for.ts'
import { TestMachine } from '#drivers/baremetal/testing/test-machine.ts'
import type { ApiClient } from '#test/env/api/client.ts'
import { type Operation, showOperation } from '#test/env/api/operations.ts'
import { askForServer, SERVERS, type Server } from '#test/env/api/servers.ts'
import type { CloudHost } from '#test/env/cloud/cloud-host.ts'
import { type Cloud, startCloud } from '#test/env/cloud.ts'
import { isFullRun } from '#test/env/full-run.ts'
import { expectInvariants } from '#test/env/invariants.ts'

// Goal: in a cell of a thousand servers, those of a host that fails are built again a few at a time, and nothing else changes; when
// many hosts vanish at once, nothing is powered off and nothing moves.

const ROOT = '/federation/v1'
const HOSTS = 10
const SERVERS_TOTAL = 1_000
const PER_REQUEST = 250
/** How many servers an evacuation moves at a time. */
const PARALLEL = 5
const LIMIT_MS = 60_000
const BUILD_LIMIT_MS = 240_000
const EVACUATION_LIMIT_MS = 400_000

interface Host {
  readonly id: string
  readonly is_up: boolean
  readonly fenced_at: string | null
  readonly fence_problem: string | null
}
interface Event {
  readonly type: string
  readonly host: string | null
  readonly server_id: string | null
  readonly state: string
  readonly message: string | null
}

describe.skipIf(!isFullRun)('a thousand servers on ten hosts (only in the long run)', () => {
  let folder: string
  const machines = new Map<string, TestMachine>()
  let cloud: Cloud
  let demo: ApiClient
  let admin: ApiClient

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'weir-fencing-'))
    const password_file = join(folder, 'password')
    writeFileSync(password_file, 'secret')
    const devices: Record<string, object> = {}
    for (let nth = 1; nth <= HOSTS; nth += 1) {
      const machine = await TestMachine.start('http://127.0.0.1:1', '52:54:00:00:00:01')
      machine.isOn = true
      machines.set(`north-${nth}`, machine)
      const { address: bmc, port } = machine.enrolment.bmc!
      devices[`north-${nth}`] = { bmc, port, user: 'admin', password_file }
    }
    const file = join(folder, 'devices.json')
    writeFileSync(file, JSON.stringify(devices))
    cloud = await startCloud({
      ...{ gateways: 2, cells: 1, processesPerCell: 1, hostsPerCell: HOSTS },
      driver: { vcpus: '200', disk_gb: '1000' },
      cell: { CELL_FENCE_DEVICES_FILE: file, CELL_FENCE_HOSTS_AFTER_S: '10' },
    })
    demo = cloud.as('demo')
    admin = cloud.as('admin')
    await admin.put(`/compute/v2.1/os-quota-sets/${await cloud.projectId('demo')}`, {
      quota_set: { instances: -1, cores: -1, ram: -1 },
    })
    for (let asked = 0; asked < SERVERS_TOTAL; asked += PER_REQUEST) await bootMany(PER_REQUEST)
  }, BUILD_LIMIT_MS + LIMIT_MS)

  afterAll(async () => {
    await cloud?.[Symbol.asyncDispose]()
    for (const machine of machines.values()) await machine[Symbol.asyncDispose]()
    rmSync(folder, { recursive: true, force: true })
  }, LIMIT_MS)

  async function bootMany(count: number): Promise<void> {
    const many = { name: 'many', min_count: count, max_count: count, networks: 'none' }
    const { status } = await askForServer(cloud, demo, many, { version: '2.37' })
    expect(status).toBe(202)
    await waitFor(
      `${count} servers to be built`,
      async () => (await servers()).every(({ status: each }) => each !== 'BUILD'),
      BUILD_LIMIT_MS,
    )
  }

  async function servers(): Promise<readonly Server[]> {
    const found: Server[] = []
    for (;;) {
      const marker = found.length === 0 ? '' : `&marker=${found.at(-1)!.id}`
      const path = `${SERVERS}/detail?all_tenants=1&limit=1000${marker}`
      const { body } = await admin.get<{ servers: readonly Server[] }>(path)
      found.push(...body.servers)
      if (body.servers.length < 1_000) return found
    }
  }

  /** By server, its host; all must be ACTIVE. */
  async function places(): Promise<ReadonlyMap<string, string>> {
    const found = await servers()
    expect(found.filter(({ status }) => status !== 'ACTIVE')).toEqual([])
    return new Map(found.map((each) => [each.id, String(each['OS-EXT-SRV-ATTR:host'])]))
  }

  /** By server, every host that has a guest of it. */
  async function guests(): Promise<ReadonlyMap<string, readonly string[]>> {
    const lists = await Promise.all(
      cloud.hosts.map(async (host) => (await host.guests()).map((id) => [id, host.name] as const)),
    )
    const grouped = Map.groupBy(lists.flat(), ([id]) => id)
    return new Map([...grouped].map(([id, found]) => [id, found.map(([, name]) => name)]))
  }

  const machineOf = ({ name }: CloudHost) => machines.get(name)!
  const shown = async ({ id }: CloudHost) => (await admin.get<Host>(`${ROOT}/hosts/${id}`)).body

  function until(host: CloudHost, is: (host: Host) => boolean): Promise<Host> {
    const seen = async () => {
      const found = await shown(host)
      return is(found) ? found : undefined
    }
    return waitFor(`host ${host.name}`, seen, LIMIT_MS)
  }

  async function operations(): Promise<readonly (Operation & { subject_id: string })[]> {
    type List = { operations: readonly (Operation & { subject_id: string })[] }
    return (await admin.get<List>(`${ROOT}/operations`)).body.operations
  }

  async function events(type: string, host: string): Promise<readonly Event[]> {
    const { body } = await admin.get<{ events: readonly Event[] }>(
      `${ROOT}/events?type=${type}&host=${host}&limit=1000`,
    )
    return body.events
  }

  test(
    'those of a host that fails are built again, a few at a time, and no other moves',
    async () => {
      const before = await places()
      expect(before.size).toBe(SERVERS_TOTAL)
      const [host] = cloud.hosts as readonly [CloudHost, ...CloudHost[]]
      const lost = [...before].filter(([, name]) => name === host.name).map(([id]) => id)
      expect(lost.length).toBeGreaterThan(SERVERS_TOTAL / HOSTS / 2)

      await host.process.kill()
      await until(host, ({ fenced_at }) => fenced_at !== null)
      expect(machineOf(host).isOn).toBe(false)
      const begun = await waitFor(
        'the evacuation to begin',
        async () => (await operations()).find(({ subject_id }) => subject_id === host.id),
        LIMIT_MS,
      )
      let atOnce = 0
      const done = await waitFor(
        'the evacuation to end',
        async () => {
          const operation = await showOperation(admin, begun.id)
          const moves = operation.moves ?? []
          const moving = moves.filter(({ state }) => state === 'starting' || state === 'moving')
          atOnce = Math.max(atOnce, moving.length)
          return operation.state === 'running' ? undefined : operation
        },
        EVACUATION_LIMIT_MS,
      )

      expect(done.state).toBe('done')
      expect(atOnce).toBeGreaterThan(0)
      expect(atOnce).toBeLessThanOrEqual(PARALLEL)
      expect(done.moves!.map(({ server_id }) => server_id).toSorted()).toEqual(lost.toSorted())
      expect(new Set(done.moves!.map(({ state }) => state))).toEqual(new Set(['moved']))
      const after = await places()
      expect([...after.keys()].toSorted()).toEqual([...before.keys()].toSorted())
      for (const [id, name] of after)
        if (lost.includes(id)) expect(name).not.toBe(host.name)
        else expect(name).toBe(before.get(id))
      const states = (await events('host.state', host.name)).map(({ state }) => state)
      expect(states.slice(-2)).toEqual(['down', 'fenced'])
      for (const id of lost) await expectTold(id, after.get(id)!)
    },
    LIMIT_MS * 3 + EVACUATION_LIMIT_MS,
  )

  /** Why the server is where it is, and that it has moved, as anybody can read later. */
  async function expectTold(id: string, to: string): Promise<void> {
    type Trace = { host: string; decisions: readonly object[] }
    const trace = await admin.get<Trace>(`${ROOT}/servers/${id}/trace`)
    expect(trace.body.host).toBe(to)
    expect(JSON.stringify(trace.body.decisions.at(-1))).toContain(to)
    type Actions = { instanceActions: readonly { action: string; message: string | null }[] }
    const actions = await admin.get<Actions>(`${SERVERS}/${id}/os-instance-actions`)
    expect(actions.body.instanceActions.map(({ action }) => action)).toContain('evacuate')
    const { body } = await admin.get<{ events: readonly Event[] }>(
      `${ROOT}/events?type=server.action&server=${id}`,
    )
    expect(JSON.stringify(body.events)).toContain('evacuate')
  }

  test(
    'the host that comes back runs none of them again',
    async () => {
      const [host] = cloud.hosts as readonly [CloudHost, ...CloudHost[]]
      const before = await places()
      machineOf(host).isOn = true
      await host.process.start()
      await until(host, ({ is_up, fenced_at }) => is_up && fenced_at === null)

      await expect.poll(() => host.guests(), { timeout: LIMIT_MS }).toEqual([])
      expect(await places()).toEqual(before)
      const running = await guests()
      expect(running.size).toBe(SERVERS_TOTAL)
      for (const [id, names] of running) expect(names).toEqual([before.get(id)])
      await admin.call('PATCH', `${ROOT}/hosts/${host.id}`, { is_cordoned: false })
    },
    LIMIT_MS * 2,
  )

  test(
    'when many hosts vanish at once, none is powered off and no server moves',
    async () => {
      const before = await places()
      const known = (await operations()).length
      const gone = cloud.hosts.slice(3, 7)

      for (const host of gone) host.process.freeze()
      const reason = /4 of 10 hosts do not answer, and CELL_FENCE_HOSTS_MAX is 2/
      for (const host of gone)
        expect(
          (await until(host, ({ fence_problem }) => fence_problem !== null)).fence_problem,
        ).toMatch(reason)
      for (const host of gone) {
        const states = (await events('host.state', host.name)).map((event) => event.message ?? '')
        expect(states.at(-1)).toMatch(reason)
        expect(machineOf(host).isOn).toBe(true)
      }
      for (const id of [...before].flatMap(([id, name]) => (name === gone[0]!.name ? [id] : []))) {
        const { body } = await admin.get<{ host_problem: string }>(`${ROOT}/servers/${id}/trace`)
        expect(body.host_problem).toMatch(reason)
      }
      for (const host of gone) host.process.thaw()
      for (const host of gone)
        await until(host, ({ is_up, fenced_at, fence_problem }) => {
          return is_up && fenced_at === null && fence_problem === null
        })

      expect((await operations()).length).toBe(known)
      expect(await places()).toEqual(before)
      expect([...machines.values()].every(({ isOn }) => isOn)).toBe(true)
      await expectInvariants(cloud)
    },
    LIMIT_MS * 4,
  )
})
