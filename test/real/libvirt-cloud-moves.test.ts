import { execFile } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { callApi, type Session } from '#deploy/api/session.ts'
import { startLibvirtHost } from '#deploy/libvirt-host/libvirt-host.ts'
import { Checkout } from '../env/checkout.ts'
import { isFullRun } from '../env/full-run.ts'
import { whyNoGuests } from './requirements.ts'

const COMMANDS = ['libvirtd', 'virsh', 'qemu-system-x86_64', 'dnsmasq', 'syslinux', 'openstack']
const COMMAND_MS = 180_000
const WAIT = { timeout: 150_000, interval: 2_000 }
const why = isFullRun ? whyNoGuests(COMMANDS) : 'only in the long run'

interface Hypervisor {
  readonly service: { readonly host: string }
  readonly vcpus_used: number
}

describe.skipIf(why !== undefined)(
  `a cell of two libvirt hosts${why === undefined ? '' : ` (skipped: ${why})`}`,
  () => {
    let checkout: Checkout
    let id: string

    beforeAll(async () => {
      checkout = new Checkout()
      await checkout.succeed('up', '--driver', 'libvirt', '--cells', '1', '--hosts', '2')
      const [first] = await checkout.servers()
      id = first!.id
    }, 300_000)
    afterAll(() => checkout?.[Symbol.asyncDispose](), 60_000)

    /** The unmodified client, as the administrator. */
    const openstack = async (...args: readonly string[]) => {
      const env = {
        PATH: '/usr/bin:/bin',
        HOME: checkout.home,
        OS_CLIENT_CONFIG_FILE: checkout.cloudsFile,
        OS_CLOUD: 'weir-admin',
        OS_COMPUTE_API_VERSION: '2.67',
      }
      return (await promisify(execFile)('openstack', args, { env, timeout: COMMAND_MS })).stdout
    }
    const server = async () =>
      JSON.parse(await openstack('server', 'show', id, '-f', 'json')) as Readonly<
        Record<string, unknown>
      >
    const hostOf = async () => String((await server())['OS-EXT-SRV-ATTR:host'])
    const statusOf = async () => (await server())['status']
    const untilConsole = (text: string) =>
      expect.poll(() => openstack('console', 'log', 'show', id), WAIT).toContain(text)

    test('a server goes over while it runs, moves with its disk, and is rebuilt when its host is dead', async () => {
      const before = await hostOf()
      await untilConsole('READY')

      await openstack('server', 'migrate', '--live-migration', '--wait', id)
      const after = await hostOf()
      expect(after).not.toBe(before)
      expect(await statusOf()).toBe('ACTIVE')

      await openstack('server', 'migrate', '--wait', id)
      expect(await statusOf()).toBe('VERIFY_RESIZE')
      await openstack('server', 'resize', 'confirm', id)
      await expect.poll(statusOf, WAIT).toBe('ACTIVE')
      expect(await hostOf()).toBe(before)
      await untilConsole('boot 2 of this disk')

      await openstack('compute', 'service', 'set', '--down', before, 'nova-compute')
      // The client of Debian 12 asks for it, and then stumbles over the empty answer, which is Nova's as well.
      await callApi(await checkout.signIn('weir-admin'), {
        method: 'POST',
        path: `/compute/v2.1/servers/${id}/action`,
        body: { evacuate: {} },
        headers: { 'openstack-api-version': 'compute 2.67' },
      })
      await expect.poll(hostOf, WAIT).toBe(after)
      await expect.poll(statusOf, WAIT).toBe('ACTIVE')
      await openstack('compute', 'service', 'set', '--up', before, 'nova-compute')
      await untilConsole('READY')
      expect(await openstack('console', 'log', 'show', id)).not.toContain('boot 2')
    }, 900_000)

    const act = async (body: object) =>
      callApi(await checkout.signIn('weir-admin'), {
        method: 'POST',
        path: `/compute/v2.1/servers/${id}/action`,
        body,
        headers: { 'openstack-api-version': 'compute 2.34' },
      })
    /** Without the client, which takes seconds to start: the awaited state ends sooner. */
    const taskOf = async (session: Session) => {
      type Shown = { readonly server: { readonly 'OS-EXT-STS:task_state': string | null } }
      const path = `/compute/v2.1/servers/${id}`
      const shown = await callApi<Shown>(session, { method: 'GET', path })
      return shown.server['OS-EXT-STS:task_state']
    }
    /** By host: the vCPUs that are promised there, and the domains of the server that are. */
    const places = async () => {
      type Found = { readonly hypervisors: readonly Hypervisor[] }
      const { hypervisors } = await callApi<Found>(await checkout.signIn('weir-admin'), {
        method: 'GET',
        path: '/compute/v2.1/os-hypervisors/detail',
      })
      const found = hypervisors.map(async ({ service: { host }, vcpus_used }) => {
        const directory = join(checkout.home, 'hosts', host, 'libvirt')
        const daemon = await startLibvirtHost({ directory, name: host })
        const { stdout } = await daemon.run('virsh', ['-q', 'list', '--all', '--name'], {
          timeoutMs: 20_000,
        })
        const domains = stdout.split('\n').filter((name) => name === `weir-${id}`).length
        return [host, { vcpus: vcpus_used, domains }] as const
      })
      return Object.fromEntries(await Promise.all(found))
    }

    test('a host that is drained is empty, and its guest runs on the other without having stopped', async () => {
      const drained = await hostOf()
      const other = drained === 'north-1' ? 'north-2' : 'north-1'
      await untilConsole('READY')
      const log = await openstack('console', 'log', 'show', id)
      const admin = ['--os-cloud', 'weir-admin']

      const shown = await checkout.succeed('host', 'drain', drained, '--wait', ...admin)

      expect(shown).toMatch(/STATE +done/)
      expect([await hostOf(), await statusOf()]).toEqual([other, 'ACTIVE'])
      await expect.poll(places, WAIT).toEqual({
        [drained]: { vcpus: 0, domains: 0 },
        [other]: { vcpus: 1, domains: 1 },
      })
      // It would have begun again.
      expect(await openstack('console', 'log', 'show', id)).not.toContain('boot 2')
      expect(log).not.toContain('boot 2')
      await checkout.succeed('host', 'uncordon', drained, ...admin)
    }, 900_000)

    test.each([
      ['cold', 'source'],
      ['cold', 'dest'],
      ['live', 'source'],
      ['live', 'dest'],
    ] as const)(
      'a %s move whose %s host’s compute is killed midway ends on one host',
      async (how, killed) => {
        const source = await hostOf()
        const dest = source === 'north-1' ? 'north-2' : 'north-1'
        const victim = `compute-${killed === 'source' ? source : dest}`
        const pid = (await checkout.processes()).get(victim)
        const admin = await checkout.signIn('weir-admin')
        const live = { 'os-migrateLive': { host: null, block_migration: 'auto' } }

        await act(how === 'live' ? live : { migrate: null })
        const folder = join(checkout.home, 'hosts', dest)
        const isInTheMidst = {
          'cold source': async () => (await taskOf(admin)) === 'resize_prep',
          'cold dest': async () => existsSync(join(folder, 'instances', id)),
          'live source': async () => readdirSync(join(folder, 'in')).length > 0,
          'live dest': async () => readdirSync(join(folder, 'in')).length > 0,
        }[`${how} ${killed}` as const]
        await expect.poll(isInTheMidst, { timeout: WAIT.timeout, interval: 5 }).toBe(true)
        process.kill(pid!, 'SIGKILL')
        await checkout.succeed('up')

        await expect.poll(() => taskOf(admin), WAIT).toBeNull()
        if ((await statusOf()) === 'VERIFY_RESIZE')
          await openstack('server', 'resize', 'confirm', id)
        await expect.poll(statusOf, WAIT).toBe('ACTIVE')
        const place = await hostOf()
        const other = place === source ? dest : source
        await expect.poll(places, WAIT).toEqual({
          [place]: { vcpus: 1, domains: 1 },
          [other]: { vcpus: 0, domains: 0 },
        })
        if (how === 'cold') await untilConsole('READY')
      },
      900_000,
    )
  },
)
