import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { callApi } from '#deploy/api/session.ts'
import { Checkout } from '../env/checkout.ts'
import { isFullRun } from '../env/full-run.ts'
import { whyNoGuests } from './requirements.ts'

const COMMANDS = ['libvirtd', 'virsh', 'qemu-system-x86_64', 'dnsmasq', 'syslinux', 'openstack']
const COMMAND_MS = 180_000
const WAIT = { timeout: 150_000, interval: 2_000 }
const why = isFullRun ? whyNoGuests(COMMANDS) : 'only in the long run'

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

    test('a server goes over while it runs, moves with its disk, and is built anew when its host is dead', async () => {
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
  },
)
