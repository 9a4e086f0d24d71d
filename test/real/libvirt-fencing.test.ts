import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { waitFor } from '#common/wait-for.ts'
import { type RunningLibvirtHost, startLibvirtHost } from '#deploy/libvirt-host/libvirt-host.ts'
import { TestMachine } from '#drivers/baremetal/testing/test-machine.ts'
import type { ApiClient } from '../env/api/client.ts'
import { endOfOperation, type Operation } from '../env/api/operations.ts'
import { act, deleteServer, SERVERS, showServer, untilStatus } from '../env/api/servers.ts'
import { type Cloud, startCloud } from '../env/cloud.ts'
import { type DrivenHost, startDrivenHost } from '../env/driven-host.ts'
import { isFullRun } from '../env/full-run.ts'
import { expectInvariants } from '../env/invariants.ts'
import { whyNoGuests } from './requirements.ts'

// Goal: QEMU guests of a libvirt host that fails run again on the other host once the machine is off, and never on both.

const ROOT = '/federation/v1'
const LIMIT_MS = 90_000
const TEST_MS = 400_000
const VIRSH_MS = 20_000
const PROGRAMS = ['libvirtd', 'virsh', 'qemu-system-x86_64', 'fence_ipmilan', 'ipmitool']
const why = isFullRun ? whyNoGuests(PROGRAMS) : 'with --all only'

interface Host {
  readonly is_up: boolean
  readonly fenced_at: string | null
  readonly fence_problem: string | null
}

/** A machine with a BMC, on which libvirt and a compute run. */
interface Machine {
  readonly bmc: TestMachine
  readonly directory: string
  readonly host: DrivenHost
  /** Undefined while its power is off: then no process of it is left. */
  libvirt: RunningLibvirtHost | undefined
}

describe.skipIf(why !== undefined)(
  `two libvirt hosts with BMCs${why === undefined ? '' : ` (skipped: ${why})`}`,
  () => {
    /** Evacuations that a test has seen the end of. */
    const ended = new Set<string>()
    let folder: string
    let cloud: Cloud
    let demo: ApiClient
    let admin: ApiClient
    let imageRef: string
    let machines: readonly [Machine, Machine]

    beforeAll(async () => {
      folder = mkdtempSync(join(tmpdir(), 'weir-lf-'))
      // Their names are the first part, which ids of the same moment would share.
      const ids = [randomUUID(), randomUUID()]
      const password_file = join(folder, 'password')
      writeFileSync(password_file, 'secret')
      const bmcs = [await startBmc(), await startBmc()]
      const devices = ids.map((id, nth) => {
        const { address: bmc, port } = bmcs[nth]!.enrolment.bmc!
        if (nth === 0) return [nameOf(id), { bmc, port, user: 'admin', password_file }]
        // Guests of a machine take a moment to end with it.
        const how = { lanplus: '1', cipher: '17', power_wait: '1', power_timeout: '60' }
        const parameters = { ip: bmc, ipport: String(port), username: 'admin', ...how }
        return [nameOf(id), { agent: 'fence_ipmilan', parameters, password_file }]
      })
      const file = join(folder, 'devices.json')
      writeFileSync(file, JSON.stringify(Object.fromEntries(devices)))
      cloud = await startCloud({
        ...{ gateways: 1, cells: 1, processesPerCell: 1, hostsPerCell: 0 },
        cell: { CELL_FENCE_DEVICES_FILE: file, CELL_FENCE_HOSTS_AFTER_S: '8' },
      })
      demo = cloud.as('demo')
      admin = cloud.as('admin')
      const [one, two] = ids.map((id, nth) => startMachine(id, bmcs[nth]!, join(folder, `${nth}`)))
      machines = [await one!, await two!]
      imageRef = await upload()
    }, TEST_MS)

    afterEach(async () => {
      for (const machine of machines) await repair(machine)
    }, TEST_MS)

    afterAll(async () => {
      for (const { host } of machines ?? []) await host[Symbol.asyncDispose]()
      for (const { libvirt, bmc } of machines ?? []) {
        await libvirt?.stop()
        await bmc[Symbol.asyncDispose]()
      }
      await cloud?.[Symbol.asyncDispose]()
      rmSync(folder, { recursive: true, force: true })
    }, TEST_MS)

    async function startBmc(): Promise<TestMachine> {
      const bmc = await TestMachine.start('http://127.0.0.1:1', '52:54:00:00:00:01')
      bmc.isOn = true
      return bmc
    }

    async function startMachine(id: string, bmc: TestMachine, directory: string): Promise<Machine> {
      const libvirt = await startLibvirtHost({ directory, name: nameOf(id) })
      const size = { vcpus: '4', memory_mb: '2048', disk_gb: '20' }
      const settings = { uri: libvirt.uri, virt_type: 'qemu', ...size }
      const host = await startDrivenHost(cloud, 'libvirt', settings, id)
      const machine: Machine = { bmc, directory, host, libvirt }
      bmc.whenOff = () => powerOff(machine)
      return machine
    }

    /** A disk without a system: the fastest guest there is. */
    async function upload(): Promise<string> {
      const draft = { name: 'blank', disk_format: 'raw', container_format: 'bare' }
      const { body } = await demo.post<{ id: string }>('/image/v2/images', draft)
      await demo.call('PUT', `/image/v2/images/${body.id}/file`, undefined, {
        raw: Buffer.alloc(1024 ** 2),
        headers: { 'content-type': 'application/octet-stream' },
      })
      return body.id
    }

    /** Everything that runs on the machine ends at once; its disks stay. */
    async function powerOff(machine: Machine): Promise<void> {
      await machine.libvirt?.stop()
      machine.libvirt = undefined
    }

    /** As when somebody has switched the machine on again, and its BMC answers. */
    async function repair(machine: Machine): Promise<void> {
      const { bmc, directory, host } = machine
      if (machine.libvirt === undefined) {
        machine.libvirt = await startLibvirtHost({ directory, name: host.name })
        bmc.isOn = true
      }
      await host.stop()
      await host.start()
      await until(machine, ({ is_up }) => is_up)
      bmc.silence(false)
      await cordon(machine, false)
    }

    const cordon = ({ host }: Machine, is_cordoned: boolean) =>
      admin.call('PATCH', `${ROOT}/hosts/${host.id}`, { is_cordoned })
    const hostOf = async (id: string) => (await showServer(admin, id))['OS-EXT-SRV-ATTR:host']

    function until({ host }: Machine, is: (host: Host) => boolean): Promise<Host> {
      const seen = async () => {
        const { body } = await admin.get<Host>(`${ROOT}/hosts/${host.id}`)
        return is(body) ? body : undefined
      }
      return waitFor(`host ${host.name}`, seen, LIMIT_MS)
    }

    /** What virsh answers on the machine; nothing while it is off. */
    async function virsh({ libvirt }: Machine, ...args: readonly string[]): Promise<string> {
      if (libvirt === undefined) return ''
      const options = { timeoutMs: VIRSH_MS }
      return (await libvirt.run('virsh', ['-q', ...args], options)).stdout.trim()
    }
    const runs = async (machine: Machine, id: string) =>
      (await virsh(machine, 'list', '--name')).includes(id)
    const isDefined = async (machine: Machine, id: string) =>
      (await virsh(machine, 'list', '--all', '--name')).includes(id)
    /** Another number after each start. */
    const startOf = (machine: Machine, id: string) => virsh(machine, 'domid', `weir-${id}`)

    async function serverOn(machine: Machine, hint?: string): Promise<string> {
      const other = machines.find((each) => each !== machine)!
      await cordon(other, true)
      const hints = hint === undefined ? {} : { 'os:scheduler_hints': { policy: hint } }
      const request = { name: 'guest', imageRef, networks: 'none' }
      const { status, body } = await demo.post<{ server: { id: string } }>(
        SERVERS,
        { server: { ...request, flavorRef: cloud.catalog.tiny }, ...hints },
        { version: '2.37' },
      )
      expect(status).toBe(202)
      const { id } = await untilStatus(demo, body.server.id, 'ACTIVE', LIMIT_MS)
      await cordon(other, false)
      expect(await hostOf(id)).toBe(machine.host.name)
      expect(await runs(machine, id)).toBe(true)
      return id
    }

    /** Looks all the time on how many machines the guest runs; resolves with the most that it has seen. */
    function countsOf(id: string): () => Promise<number> {
      let isOver = false
      const watch = async () => {
        let most = 0
        while (!isOver) {
          const found = await Promise.all(machines.map((each) => runs(each, id).catch(() => false)))
          most = Math.max(most, found.filter(Boolean).length)
        }
        return most
      }
      const watching = watch()
      return () => {
        isOver = true
        return watching
      }
    }

    type Subject = Operation & { readonly subject_id: string }
    async function operationsOf({ host }: Machine): Promise<readonly Subject[]> {
      const { body } = await admin.get<{ operations: readonly Subject[] }>(`${ROOT}/operations`)
      return body.operations.filter(({ subject_id }) => subject_id === host.id)
    }

    /** The end of the evacuation that has begun since the last one; one of servers that all wait is soon over. */
    async function evacuated(machine: Machine): Promise<Operation> {
      const begun = await waitFor(
        'the evacuation',
        async () => (await operationsOf(machine)).find(({ id }) => !ended.has(id)),
        LIMIT_MS,
      )
      ended.add(begun.id)
      return endOfOperation(admin, begun.id, LIMIT_MS)
    }

    test.each([
      ['its BMC', 0],
      ['its fence agent', 1],
    ] as const)(
      'guests of a host that hangs run until %s powers it off, and then on the other',
      async (_by, nth) => {
        const [lost, other] = [machines[nth], machines[nth === 0 ? 1 : 0]]
        const id = await serverOn(lost)
        const most = countsOf(id)

        await lost.host.stop()
        expect(await runs(lost, id)).toBe(true)
        await until(lost, ({ fenced_at }) => fenced_at !== null)
        expect([lost.bmc.isOn, lost.libvirt]).toEqual([false, undefined])
        expect((await evacuated(lost)).moves).toMatchObject([{ server_id: id, state: 'moved' }])

        await untilStatus(demo, id, 'ACTIVE', LIMIT_MS)
        expect(await hostOf(id)).toBe(other.host.name)
        expect(await runs(other, id)).toBe(true)
        const start = await startOf(other, id)
        await repair(lost)
        await expect.poll(() => isDefined(lost, id), { timeout: LIMIT_MS }).toBe(false)
        expect(await most()).toBe(1)
        expect([await runs(other, id), await startOf(other, id)]).toEqual([true, start])
        await deleteServer(demo, id)
      },
      TEST_MS,
    )

    test(
      'a guest whose policy has it wait starts in place, with its disk, when the host is back, and one that is to stay off does not',
      async () => {
        const [lost, other] = machines
        await admin.post(`${ROOT}/placement-policies`, {
          ...{ name: 'pets', is_selectable: true, on_host_failure: 'restart' },
        })
        await admin.post(`${ROOT}/placement-policies`, {
          ...{ name: 'lab', is_selectable: true, on_host_failure: 'none' },
        })
        const id = await serverOn(lost, 'pets')
        const off = await serverOn(lost, 'lab')
        const disk = join(cloud.foundation.directory, lost.host.name, 'instances', id, 'root.qcow2')
        const before = statSync(disk).ino

        await lost.host.stop()
        await until(lost, ({ fenced_at }) => fenced_at !== null)
        expect((await evacuated(lost)).message).toContain('The rest stay on the host')
        expect(await hostOf(id)).toBe(lost.host.name)
        expect([await isDefined(lost, id), await isDefined(other, id)]).toEqual([false, false])

        await repair(lost)
        await expect.poll(() => runs(lost, id), { timeout: LIMIT_MS }).toBe(true)
        await untilStatus(demo, id, 'ACTIVE', LIMIT_MS)
        expect(statSync(disk).ino).toBe(before)
        expect(await isDefined(other, id)).toBe(false)
        await untilStatus(demo, off, 'SHUTOFF', LIMIT_MS)
        expect([await isDefined(lost, off), await runs(lost, off)]).toEqual([true, false])
        await act(demo, off, { 'os-start': null })
        await untilStatus(demo, off, 'ACTIVE', LIMIT_MS)
        expect(await runs(lost, off)).toBe(true)
        for (const each of [id, off]) await deleteServer(demo, each)
      },
      TEST_MS,
    )

    test(
      'guests that run on while their compute and their BMC are silent stay where they are',
      async () => {
        const [other, silent] = machines
        const id = await serverOn(silent)
        const start = await startOf(silent, id)
        silent.bmc.silence(true)

        await silent.host.stop()
        const held = await until(silent, ({ fence_problem }) => fence_problem !== null)
        expect(held.fence_problem).toContain('It could not be fenced')
        const known = (await operationsOf(silent)).filter((each) => !ended.has(each.id))
        expect([known, await hostOf(id)]).toEqual([[], silent.host.name])
        expect([await runs(silent, id), await isDefined(other, id)]).toEqual([true, false])

        await silent.host.start()
        await until(silent, ({ is_up, fence_problem }) => is_up && fence_problem === null)
        await untilStatus(demo, id, 'ACTIVE', LIMIT_MS)
        expect(await startOf(silent, id)).toBe(start)
        expect(silent.bmc.isOn).toBe(true)
        await deleteServer(demo, id)
      },
      TEST_MS,
    )

    test(
      'while both hosts are silent neither is powered off, and their guests run on',
      async () => {
        const ids = [await serverOn(machines[0]), await serverOn(machines[1])]
        const starts = await Promise.all(ids.map((id, nth) => startOf(machines[nth]!, id)))

        for (const { host } of machines) await host.stop()
        for (const machine of machines) {
          const held = await until(machine, ({ fence_problem }) => fence_problem !== null)
          expect(held.fence_problem).toContain('2 of 2 hosts do not answer')
        }
        for (const { host } of machines) await host.start()
        for (const [nth, machine] of machines.entries()) {
          await until(machine, ({ is_up }) => is_up)
          expect(await startOf(machine, ids[nth]!)).toBe(starts[nth])
          expect(machine.bmc.isOn).toBe(true)
          await deleteServer(demo, ids[nth]!)
        }
      },
      TEST_MS,
    )

    test(
      'guests are built again on the word of an operator, and the host that comes back drops them',
      async () => {
        const [other, lost] = machines
        const id = await serverOn(lost)
        const most = countsOf(id)
        lost.bmc.silence(true)

        await lost.host.stop()
        await powerOff(lost)
        await until(lost, ({ fence_problem }) => fence_problem !== null)
        expect(await hostOf(id)).toBe(lost.host.name)
        await admin.post(`${ROOT}/hosts/${lost.host.id}/drain`, { evacuate: true })
        expect((await evacuated(lost)).state).toBe('done')

        await untilStatus(demo, id, 'ACTIVE', LIMIT_MS)
        expect([await hostOf(id), await runs(other, id)]).toEqual([other.host.name, true])
        await repair(lost)
        await expect.poll(() => isDefined(lost, id), { timeout: LIMIT_MS }).toBe(false)
        expect(await most()).toBe(1)
        expect(await runs(other, id)).toBe(true)
        await deleteServer(demo, id)
        await expectInvariants(cloud)
      },
      TEST_MS,
    )
  },
)

const nameOf = (id: string) => `libvirt-${id.slice(0, 8)}`
