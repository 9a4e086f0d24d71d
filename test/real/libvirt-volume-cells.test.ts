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
const SLOW_MS = 600_000
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
      await checkout.succeed('up', '--driver', 'libvirt', '--cells', '2', '--hosts', '2')
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
    const show = async (name: string) =>
      JSON.parse(await openstack('volume', 'show', name, '-f', 'json')) as Readonly<
        Record<string, unknown>
      >
    const available = async (name: string) => {
      const statusOf = async () => (await show(name))['status']
      await expect.poll(statusOf, poll).toBe('available')
      return String((await show(name))['id'])
    }
    const adminShow = async (name: string) =>
      JSON.parse(
        await openstack(
          '--os-cloud',
          'weir-admin',
          'volume',
          'show',
          await idOf(name),
          '-f',
          'json',
        ),
      ) as Readonly<Record<string, unknown>>
    const idOf = async (name: string) => String((await show(name))['id'])
    const weir = (...args: readonly string[]) =>
      checkout.succeed(...args, '--os-cloud', 'weir-admin')
    /** The volume's files in the stores of the cell's hosts. */
    const filesIn = (cell: string, id: string) =>
      globSync(join(checkout.home, 'hosts', `${cell}-*`, '**', `weir-*-${id}*`))
    const contentOf = async (path: string, name: string) => {
      const copy = join(folder, name)
      await program('qemu-img', ['convert', '-O', 'raw', path, copy], { timeout: COMMAND_MS })
      return copy
    }

    /** A volume of the northern cell with an image, and with more at its very end and past what the image has. */
    async function written(name: string): Promise<string> {
      await expectStores()
      const where = ['--size', '1', '--image', 'tiny', '--availability-zone', 'north']
      await openstack('volume', 'create', ...where, name)
      const id = await available(name)
      const [file = ''] = filesIn('north', id)
      const { stdout } = await program('qemu-img', ['info', '--output=json', file])
      const { format } = JSON.parse(stdout) as { readonly format: string }
      for (const [pattern, at] of [
        ['0xa5', '1023M'],
        ['0x5a', '600M'],
      ] as const)
        await program('qemu-io', ['-f', format, '-c', `write -P ${pattern} ${at} 1M`, file])
      return id
    }

    async function expectSame(before: string, cell: string, id: string, name: string) {
      const files = filesIn(cell, id)
      expect(files).toHaveLength(1)
      expect((await program('cmp', [before, await contentOf(files[0]!, name)])).stdout).toBe('')
    }

    /** The stores of all hosts, as `CELL@STORE`. */
    async function stores(): Promise<readonly string[]> {
      const path = '/volume/v3/scheduler-stats/get_pools'
      const admin = await checkout.signIn('weir-admin')
      const { pools } = await callApi<{ pools: readonly { readonly name: string }[] }>(admin, {
        method: 'GET',
        path,
      })
      return pools.map(({ name }) => name)
    }

    async function expectStores(): Promise<void> {
      const cells = async () =>
        (await stores()).map((name) => name.split('@')[0]!).toSorted((a, b) => a.localeCompare(b))
      await expect.poll(cells, poll).toEqual(['north', 'north', 'south', 'south'])
    }

    /** The name of the store of its cell that does not have the volume. */
    async function otherStore(name: string): Promise<string> {
      const own = String((await adminShow(name))['os-vol-host-attr:host'])
      const cell = own.slice(0, own.indexOf('@') + 1)
      const other = (await stores()).find((each) => each.startsWith(cell) && each !== own)
      return other!.slice(cell.length)
    }

    test('a volume has every byte in the other cell, and nothing of it is left in the former', async () => {
      const id = await written('data')
      const before = await contentOf(filesIn('north', id)[0]!, 'before')

      await weir('volume', 'move', 'data', '--cell', 'south', '--wait')

      await expectSame(before, 'south', id, 'after')
      expect(await show('data')).toMatchObject({
        ...{ id, status: 'available', availability_zone: 'south' },
      })
      await expect.poll(() => filesIn('north', id), poll).toEqual([])

      await openstack('volume', 'delete', 'data')
      await expect.poll(() => filesIn('south', id), poll).toEqual([])
    }, 600_000)

    test('a volume has every byte in the store of another host, and nothing of it is left in the former', async () => {
      const id = await written('roaming')
      const [file = ''] = filesIn('north', id)
      const before = await contentOf(file, 'roaming-before')

      await weir('volume', 'move', 'roaming', '--store', await otherStore('roaming'), '--wait')

      await expect.poll(() => existsSync(file), poll).toBe(false)
      await expectSame(before, 'north', id, 'roaming-after')
      expect(filesIn('north', id)[0]).not.toBe(file)
      for (const name of globSync(join(checkout.home, 'hosts', '*', '**', 'volume-copies', '*')))
        expect.unreachable(`${name} is left`)
      await openstack('volume', 'delete', 'roaming')
    }, 600_000)

    test('an encrypted volume has every byte in another cell, and in another store there', async () => {
      const plain = await written('plain')
      const before = await contentOf(filesIn('north', plain)[0]!, 'plain-before')
      const luks = ['--encryption-provider', 'luks', '--encryption-key-size', '256']
      const how = ['--encryption-cipher', 'aes-xts-plain64', '--encryption-control-location']
      const type = ['volume', 'type', 'create', ...luks, ...how, 'front-end', 'sealed']
      await openstack('--os-cloud', 'weir-admin', ...type)
      await openstack('volume', 'create', '--source', 'plain', '--type', 'sealed', 'secret')
      const id = await available('secret')
      expect(filesIn('north', id)).toEqual([expect.stringMatching(/\.luks$/)])

      // What is encrypted is nowhere empty, so every byte of it travels.
      await weir('volume', 'move', 'secret', '--cell', 'south')
      const cellOf = async () => (await show('secret'))['availability_zone']
      await expect.poll(cellOf, { ...poll, timeout: SLOW_MS }).toBe('south')
      await available('secret')
      await expect.poll(() => filesIn('north', id), poll).toEqual([])
      const [former = ''] = filesIn('south', id)
      const { stdout } = await program('qemu-img', ['info', '-U', '--output=json', former])
      expect((JSON.parse(stdout) as { format: string }).format).toBe('luks')
      // Only a host with the key can make these.
      await openstack('--os-cloud', 'weir-admin', 'volume', 'type', 'create', 'open')
      const copied = async (copy: string) => {
        await openstack('volume', 'create', '--source', 'secret', '--type', 'open', copy)
        await expectSame(before, 'south', await available(copy), copy)
      }
      await copied('copy')

      await weir('volume', 'move', 'secret', '--store', await otherStore('secret'))
      await expect.poll(() => existsSync(former), { ...poll, timeout: SLOW_MS }).toBe(false)
      await available('secret')
      await copied('other')

      for (const name of ['plain', 'secret', 'copy', 'other'])
        await openstack('volume', 'delete', name)
    }, 1_800_000)
  },
)
