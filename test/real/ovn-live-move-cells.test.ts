import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { waitFor } from '#common/wait-for.ts'
import { Checkout } from '../env/checkout.ts'
import { isFullRun } from '../env/full-run.ts'
import { lossesOf, PING_EVERY_MS } from './ping-stream.ts'
import { whyNoGuests } from './requirements.ts'

// Goal: a server that moves to another host of its cell while it runs is reached from another cell before, meanwhile and after.

const COMMANDS = [
  'libvirtd',
  'qemu-system-x86_64',
  'syslinux',
  'openstack',
  'ovs-vswitchd',
  'ovn-northd',
  'ssh',
]
const COMMAND_MS = 240_000
const STATE_MS = 150_000
const MOVES = 2
const why = isFullRun ? whyNoGuests(COMMANDS) : 'only with --all'

describe.skipIf(why !== undefined)(
  `live moves as another cell sees them${why === undefined ? '' : ` (skipped: ${why})`}`,
  () => {
    let checkout: Checkout

    beforeAll(async () => {
      checkout = new Checkout()
      const size = ['--cells', '2', '--hosts', '2']
      await checkout.succeed('up', '--driver', 'libvirt', '--network', 'ovn', ...size)
    }, 400_000)
    afterAll(() => checkout?.[Symbol.asyncDispose](), 60_000)

    const openstack = async (cloud: string, ...args: readonly string[]) => {
      const env = {
        PATH: '/usr/bin:/bin',
        HOME: checkout.home,
        OS_CLIENT_CONFIG_FILE: checkout.cloudsFile,
        OS_CLOUD: cloud,
      }
      const options = { env, timeout: COMMAND_MS }
      return (await promisify(execFile)('openstack', [...args], options)).stdout.trim()
    }
    const shown = (name: string, column: string) =>
      openstack('weir', 'server', 'show', name, '-f', 'value', '-c', column)
    const hostOf = async (name: string) => {
      const where = ['server', 'show', await shown(name, 'id'), '-f', 'value', '-c']
      return openstack('weir-admin', ...where, 'OS-EXT-SRV-ATTR:host')
    }
    const inSecond = (script: string) => checkout.succeed('ssh', 'second', '--', script)

    test('loses the pings of a moment', async ({ annotate }) => {
      const address = /(?:\d+\.){3}\d+/.exec(await shown('first', 'addresses'))![0]
      const boot = ['--flavor', 'm1.tiny', '--image', 'tiny', '--network', 'private', '--wait']
      const apart = `different_host=${await shown('first', 'id')}`
      await openstack(
        ...['weir', 'server', 'create', ...boot, '--key-name', 'weir', '--hint', apart, 'second'],
      )
      const cellOf = (host: string) => host.split('-')[0]
      if (cellOf(await hostOf('second')) === cellOf(await hostOf('first')))
        await checkout.succeed('server', 'move', 'second', '--wait')
      expect(cellOf(await hostOf('second'))).not.toBe(cellOf(await hostOf('first')))
      const taken = 'floating ip create public -f value -c floating_ip_address'
      await openstack(
        ...['weir', 'server', 'add', 'floating', 'ip', 'second'],
        await openstack('weir', ...taken.split(' ')),
      )
      const isOpen = async () => (await checkout.weir('ssh', 'second', 'true')).code === 0
      await waitFor('a shell on the second server', isOpen, STATE_MS)

      const every = PING_EVERY_MS / 1_000
      await inSecond(`ping -i ${every} ${address} >/tmp/replies 2>&1 & echo $! >/tmp/pid`)
      const replies = async () =>
        [...(await inSecond('cat /tmp/replies')).matchAll(/seq=(\d+)/g)].map(([, n]) => Number(n))
      const goesOn = async () => {
        const before = (await replies()).length
        await waitFor('further answers', async () => (await replies()).length > before, STATE_MS)
      }
      await goesOn()
      for (let move = 0; move < MOVES; move += 1) {
        const from = await hostOf('first')
        const id = await shown('first', 'id')
        await openstack('weir-admin', 'server', 'migrate', '--live-migration', id)
        const hasMoved = async () =>
          (await hostOf('first')) !== from && (await shown('first', 'status')) === 'ACTIVE'
        await waitFor('the server to move', hasMoved, STATE_MS)
        await goesOn()
      }
      await inSecond('kill -INT $(cat /tmp/pid)')

      const losses = lossesOf(await replies())
      await annotate(`${losses.lost} of ${losses.sent} lost, none for ${losses.longestMs} ms`)
    }, 900_000)
  },
)
