import { mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { waitFor } from '#common/wait-for.ts'
import { programPath } from '#deploy/process/find-program.ts'
import { TestMachine } from '#drivers/baremetal/testing/test-machine.ts'
import type { ApiClient } from '../env/api/client.ts'
import { deleteServer, SERVERS, showServer, smallServer, untilStatus } from '../env/api/servers.ts'
import type { CloudHost } from '../env/cloud/cloud-host.ts'
import { type Cloud, startCloud } from '../env/cloud.ts'
import { isFullRun } from '../env/full-run.ts'
import { expectInvariants } from '../env/invariants.ts'
import { WeirCommand } from '../env/weir-command.ts'

// Goal: Debian's fence_ipmilan fences hosts, and what is wrong with one is known before its host fails.

const ROOT = '/federation/v1'
const LIMIT_MS = 120_000
const TEST_MS = 300_000
const AGENT = 'fence_ipmilan'
const missing = [AGENT, 'ipmitool'].filter((name) => programPath(name) === undefined)
const why = !isFullRun
  ? 'with --all only'
  : missing.length > 0
    ? `not installed: ${missing.join(', ')}`
    : undefined

interface Host {
  readonly is_up: boolean
  readonly fenced_at: string | null
  readonly fence_problem: string | null
  readonly fence_device: { readonly name: string; readonly problem: string | null } | null
}

describe.skipIf(why !== undefined)(
  `hosts with fence agents${why === undefined ? '' : ` (skipped: ${why})`}`,
  () => {
    let folder: string
    let cloud: Cloud
    let demo: ApiClient
    let admin: ApiClient
    let weir: WeirCommand
    let machines: readonly TestMachine[]
    let settings: Record<string, ReturnType<typeof deviceOf>>
    let written = 0

    const fileOf = (name: string) => join(folder, name)
    const deviceOf = ({ enrolment }: TestMachine, password = 'password', more = {}) => {
      const { address: ip, port } = enrolment.bmc!
      const how = { lanplus: '1', cipher: '17', power_wait: '0', ...more }
      const parameters = { ip, ipport: String(port), username: 'admin', ...how }
      return { agent: AGENT, parameters, password_file: fileOf(password) }
    }
    const put = (change: typeof settings) => {
      settings = { ...settings, ...change }
      writeFileSync(fileOf('devices.json'), JSON.stringify(settings))
      written += 1
      utimesSync(fileOf('devices.json'), written, written)
    }

    beforeAll(async () => {
      folder = mkdtempSync(join(tmpdir(), 'weir-agents-'))
      writeFileSync(fileOf('password'), 'secret\n')
      writeFileSync(fileOf('wrong'), 'guessed-word\n')
      const started = [0, 1, 2, 3, 4].map(() =>
        TestMachine.start('http://127.0.0.1:1', '52:54:00:00:00:01'),
      )
      machines = await Promise.all(started)
      // The last is no host of the cell.
      for (const machine of machines.slice(0, 4)) machine.isOn = true
      put({
        'north-1': deviceOf(machines[0]!),
        'north-2': deviceOf(machines[1]!, 'wrong'),
        'north-3': deviceOf(machines[4]!),
        'north-4': deviceOf(machines[3]!, 'password', { usrname: 'weir' }),
      })
      cloud = await startCloud({
        ...{ gateways: 1, cells: 1, processesPerCell: 1, hostsPerCell: 4 },
        cell: { CELL_FENCE_DEVICES_FILE: fileOf('devices.json'), CELL_FENCE_HOSTS_AFTER_S: '5' },
      })
      demo = cloud.as('demo')
      admin = cloud.as('admin')
      weir = new WeirCommand(cloud, 'admin')
    }, TEST_MS)

    afterAll(async () => {
      await cloud?.[Symbol.asyncDispose]()
      for (const machine of machines ?? []) await machine[Symbol.asyncDispose]()
      rmSync(folder, { recursive: true, force: true })
    }, TEST_MS)

    const hostAt = (nth: number) => cloud.hosts[nth]!
    const cordon = ({ id }: CloudHost, is_cordoned: boolean) =>
      admin.call('PATCH', `${ROOT}/hosts/${id}`, { is_cordoned })
    const hostOf = async (id: string) => (await showServer(admin, id))['OS-EXT-SRV-ATTR:host']

    function until({ id, name }: CloudHost, is: (host: Host) => boolean): Promise<Host> {
      const seen = async () => {
        const { body } = await admin.get<Host>(`${ROOT}/hosts/${id}`)
        return is(body) ? body : undefined
      }
      return waitFor(`host ${name}`, seen, LIMIT_MS)
    }
    const problemOf = async (host: CloudHost) =>
      (await until(host, ({ fence_device }) => fence_device?.problem != null)).fence_device!.problem

    async function serverOn(host: CloudHost): Promise<string> {
      for (const other of cloud.hosts) await cordon(other, other !== host)
      const { body } = await demo.post<{ readonly server: { readonly id: string } }>(
        SERVERS,
        smallServer(cloud, { name: 'guest' }),
      )
      const { id } = await untilStatus(demo, body.server.id, 'ACTIVE')
      for (const other of cloud.hosts) await cordon(other, false)
      expect(await hostOf(id)).toBe(host.name)
      return id
    }

    async function repair(nth: number): Promise<void> {
      const host = hostAt(nth)
      machines[nth]!.isOn = true
      if (!host.process.isRunning) await host.process.start()
      await until(host, ({ is_up }) => is_up)
      await cordon(host, false)
    }

    test('what is wrong with a device is shown while its host runs', {
      timeout: TEST_MS,
    }, async () => {
      expect(await problemOf(hostAt(1))).toMatch(/^Unable to .* Check its address, user and/)
      expect(await problemOf(hostAt(2))).toMatch(
        /^It says that the machine is off, though the host/,
      )
      expect(await problemOf(hostAt(3))).toBe(
        'It has no parameter usrname. Perhaps username is meant.',
      )
      const good = await until(hostAt(0), ({ fence_device }) => fence_device !== null)
      expect(good.fence_device).toEqual({ name: AGENT, problem: null })

      const verified = await weir.run('verify')
      expect(verified.code).toBe(1)
      for (const nth of [1, 2, 3])
        expect(verified.out).toMatch(
          new RegExp(`north-${nth + 1} .*it cannot be fenced by fence_ipmilan: `, 'v'),
        )
      expect(verified.out + verified.err).not.toContain('guessed-word')

      put({ 'north-4': deviceOf(machines[3]!) })
      await until(hostAt(3), ({ fence_device }) => fence_device?.problem === null)
    })

    test('servers are evacuated once the agent says that the machine is off, and not before', {
      timeout: TEST_MS,
    }, async () => {
      const [host, machine] = [hostAt(0), machines[0]!]
      const id = await serverOn(host)
      const power = Promise.withResolvers<void>()
      const asked = Promise.withResolvers<void>()
      machine.whenOff = () => {
        asked.resolve()
        return power.promise
      }

      await host.process.kill()
      await asked.promise
      // It was told to power off, and is on: the agent waits for up to 20 s, and says so then.
      const held = await until(host, ({ fence_problem }) => fence_problem !== null)
      expect(held).toMatchObject({
        fenced_at: null,
        fence_problem: `It could not be fenced by ${AGENT}: Timed out waiting to power OFF.`,
      })
      expect(await hostOf(id)).toBe(host.name)
      power.resolve()

      await until(host, ({ fenced_at }) => fenced_at !== null)
      expect(machine.isOn).toBe(false)
      await waitFor('the server to move', async () => (await hostOf(id)) !== host.name, LIMIT_MS)
      await untilStatus(demo, id, 'ACTIVE')
      await repair(0)
      await deleteServer(demo, id)
    })

    test('a host whose password is wrong keeps its servers until that is put right', {
      timeout: TEST_MS,
    }, async () => {
      const host = hostAt(1)
      const id = await serverOn(host)

      await host.process.kill()
      const held = await until(host, ({ fence_problem }) => fence_problem !== null)
      expect(held.fence_problem).toMatch(/^It could not be fenced by fence_ipmilan: Unable to /)
      expect(held.fence_problem).not.toContain('guessed-word')
      expect([await hostOf(id), machines[1]!.isOn]).toEqual([host.name, true])

      put({ 'north-2': deviceOf(machines[1]!) })
      await until(host, ({ fenced_at }) => fenced_at !== null)
      expect(machines[1]!.isOn).toBe(false)
      await waitFor('the server to move', async () => (await hostOf(id)) !== host.name, LIMIT_MS)
      await untilStatus(demo, id, 'ACTIVE')
      await repair(1)
      await deleteServer(demo, id)
    })

    test('a host whose device is of another machine is not fenced by it', {
      timeout: TEST_MS,
    }, async () => {
      const host = hostAt(2)
      const id = await serverOn(host)

      await host.process.kill()
      const held = await until(host, ({ fence_problem }) => fence_problem !== null)
      expect(held.fence_problem).toContain('it is the device of another machine')
      expect([held.fenced_at, await hostOf(id)]).toEqual([null, host.name])

      put({ 'north-3': deviceOf(machines[2]!) })
      await until(host, ({ fenced_at }) => fenced_at !== null)
      expect(machines[2]!.isOn).toBe(false)
      await waitFor('the server to move', async () => (await hostOf(id)) !== host.name, LIMIT_MS)
      await untilStatus(demo, id, 'ACTIVE')
      await repair(2)
      await deleteServer(demo, id)
      await expectInvariants(cloud)
    })
  },
)
