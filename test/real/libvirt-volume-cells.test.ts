import { execFile } from 'node:child_process'
import { existsSync, globSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { callApi } from '#deploy/api/session.ts'
import { Checkout } from '../env/checkout.ts'
import { isFullRun } from '../env/full-run.ts'
import { whyNoGuests } from './requirements.ts'

const COMMANDS = ['libvirtd', 'virsh', 'qemu-system-x86_64', 'qemu-img', 'qemu-io', 'openstack']
const COMMAND_MS = 180_000
const poll = { timeout: 180_000, interval: 2_000 }
const why = isFullRun ? whyNoGuests(COMMANDS) : 'only in the long run'
const program = promisify(execFile)

describe.skipIf(why !== undefined)(
  `volumes of two cells of libvirt hosts${why === undefined ? '' : ` (skipped: ${why})`}`,
  () => {
    let checkout: Checkout
    let folder: string

    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), 'weir-contents-'))
      checkout = new Checkout()
      await checkout.succeed('up', '--driver', 'libvirt', '--cells', '2')
    }, 300_000)
    afterAll(async () => {
      await checkout?.[Symbol.asyncDispose]()
      await rm(folder, { recursive: true })
    }, 120_000)

    const openstack = async (...args: readonly string[]) => {
      const env = {
        PATH: '/usr/bin:/bin',
        HOME: checkout.home,
        OS_CLIENT_CONFIG_FILE: checkout.cloudsFile,
        OS_CLOUD: 'weir',
      }
      return (await program('openstack', args, { env, timeout: COMMAND_MS })).stdout
    }
    const show = async () =>
      JSON.parse(await openstack('volume', 'show', 'data', '-f', 'json')) as Readonly<
        Record<string, unknown>
      >
    const statusOf = async () => (await show())['status']
    /** The volume's file in the store of the cell's host. */
    const fileIn = (cell: string, id: string) => {
      const path = join(checkout.home, 'hosts', `${cell}-1`, '**', `weir-*-${id}`)
      return globSync(path)[0]
    }
    const contentOf = async (path: string, name: string) => {
      const copy = join(folder, name)
      await program('qemu-img', ['convert', '-O', 'raw', path, copy], { timeout: COMMAND_MS })
      return copy
    }

    test('a volume has every byte in the other cell, and nothing of it is left in the former', async () => {
      const pools = async () => {
        const path = '/volume/v3/scheduler-stats/get_pools'
        const admin = await checkout.signIn('weir-admin')
        const { pools } = await callApi<{ pools: readonly { readonly name: string }[] }>(admin, {
          method: 'GET',
          path,
        })
        return new Set(pools.map(({ name }) => name.split('@')[0]))
      }
      await expect.poll(pools, poll).toEqual(new Set(['north', 'south']))
      const where = ['--size', '1', '--image', 'tiny', '--availability-zone', 'north']
      await openstack('volume', 'create', ...where, 'data')
      await expect.poll(statusOf, poll).toBe('available')
      const id = String((await show())['id'])
      const former = fileIn('north', id)!
      const { stdout } = await program('qemu-img', ['info', '--output=json', former])
      const { format } = JSON.parse(stdout) as { readonly format: string }
      // At its very end, which nothing else has written, and past what the image has.
      for (const [pattern, at] of [
        ['0xa5', '1023M'],
        ['0x5a', '600M'],
      ] as const)
        await program('qemu-io', ['-f', format, '-c', `write -P ${pattern} ${at} 1M`, former])
      const before = await contentOf(former, 'before')

      await checkout.succeed(
        ...['volume', 'move', 'data', '--cell', 'south', '--wait', '--os-cloud', 'weir-admin'],
      )

      const after = await contentOf(fileIn('south', id)!, 'after')
      expect((await program('cmp', [before, after])).stdout).toBe('')
      expect(await show()).toMatchObject({ id, status: 'available', availability_zone: 'south' })
      await expect.poll(() => existsSync(former), poll).toBe(false)

      await openstack('volume', 'delete', 'data')
      await expect.poll(() => fileIn('south', id), poll).toBeUndefined()
    }, 600_000)
  },
)
