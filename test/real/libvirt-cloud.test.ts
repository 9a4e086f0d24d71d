import { execFile } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { buildGuestImage } from '#deploy/guest/build-guest-image.ts'
import { type RunningLibvirtHost, startLibvirtHost } from '#deploy/libvirt-host/libvirt-host.ts'
import { runningHolder } from '#deploy/namespace/holder-file.ts'
import { runInside } from '#deploy/namespace/namespace.ts'
import { guestDirectory } from '#deploy/paths.ts'
import { ConsoleSocket } from '../env/api/console-socket.ts'
import { Browser, whyNoBrowser } from '../env/browser.ts'
import { Checkout } from '../env/checkout.ts'
import { isFullRun } from '../env/full-run.ts'
import { startForeignGuest } from './foreign-guest.ts'
import { machineNetwork } from './machine-network.ts'
import { whyNoGuests } from './requirements.ts'

const COMMANDS = [
  'libvirtd',
  'virsh',
  'qemu-system-x86_64',
  'ovs-vswitchd',
  'ovn-northd',
  'syslinux',
  'openstack',
]
const KEY = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIMrt1xWkiRDwSYEVEdcd/cLe4T9OQQ31rfRQK6n1qqOM'
const COMMAND_MS = 120_000
const BOOT_MS = 150_000
/** As many as there are without a choice, or as few as do. */
const SIZE = isFullRun ? [] : ['--cells', '1', '--hosts', '1']
const NAME_ONLY = ['-f', 'value', '-c', 'floating_ip_address']
const CURL = ['-s', '--max-time', '2']
const why = whyNoGuests(COMMANDS)
/** In the page: some pixel of the canvas is lit. */
const IS_DRAWN = `(() => {
  const canvas = document.querySelector('canvas')
  if (canvas === null || canvas.width < 300) return false
  const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height)
  return data.some((value, i) => i % 4 !== 3 && value > 100)
})()`

describe.skipIf(why !== undefined)(
  `a cloud of libvirt hosts${why === undefined ? '' : ` (skipped: ${why})`}`,
  () => {
    let checkout: Checkout
    let before: Awaited<ReturnType<typeof machineNetwork>>
    let north: RunningLibvirtHost

    beforeAll(async () => {
      before = await machineNetwork()
      checkout = new Checkout()
      await checkout.succeed('up', '--driver', 'libvirt', ...SIZE)
      north = await hostOf('north-1')
      await startForeignGuest(virsh)
    }, 300_000)

    afterAll(() => checkout?.[Symbol.asyncDispose](), 60_000)

    const hostOf = (name: string) =>
      startLibvirtHost({ directory: join(checkout.home, 'hosts', name, 'libvirt'), name })
    const virsh = async (...args: string[]) =>
      (await north.run('virsh', ['-q', ...args], { timeoutMs: COMMAND_MS })).stdout
    /** The unmodified client, as clouds.yaml makes it be. */
    const openstackAs = async (cloud: string, ...args: readonly string[]) => {
      const env = {
        PATH: '/usr/bin:/bin',
        HOME: checkout.home,
        OS_CLIENT_CONFIG_FILE: checkout.cloudsFile,
        OS_CLOUD: cloud,
      }
      const options = { env, timeout: COMMAND_MS }
      return (await promisify(execFile)('openstack', args, options)).stdout
    }
    const openstack = (...args: readonly string[]) => openstackAs('weir', ...args)
    const find = async (name: string) =>
      (await checkout.servers()).find((server) => server.name === name)
    /** As an administrator sees it, who finds servers of other projects by id only. */
    const show = async (name: string) => {
      const { id } = (await find(name)) ?? { id: name }
      const shown = await openstackAs('weir-admin', 'server', 'show', id, '-f', 'json')
      return JSON.parse(shown) as Readonly<Record<string, unknown>>
    }
    const consoleOf = (name: string) => openstack('console', 'log', 'show', name)
    const statusOf = async (name: string) => (await find(name))?.status
    const addressOf = async (name: string) =>
      (await find(name))?.addresses['private']?.[0]?.addr ?? 'none'
    const untilConsole = (name: string, text: string) =>
      expect.poll(() => consoleOf(name), { timeout: BOOT_MS, interval: 2_000 }).toContain(text)
    const untilStatus = (name: string, status: string) =>
      expect.poll(() => statusOf(name), { timeout: BOOT_MS }).toBe(status)

    test('its first server is ACTIVE, boots, and has its address', async () => {
      expect(await statusOf('first')).toBe('ACTIVE')

      await untilConsole('first', 'READY')

      expect(await consoleOf('first')).toContain(`address eth0 ${await addressOf('first')}`)
    })

    const consoleUrl = async (kind: '--serial' | '--novnc') =>
      (await openstack('console', 'url', 'show', kind, 'first', '-f', 'value', '-c', 'url')).trim()

    test('its consoles open by the URLs the client shows: the guest answers, its screen speaks VNC', async () => {
      await untilConsole('first', 'press Enter for a shell')

      using serial = await ConsoleSocket.open(await consoleUrl('--serial'))
      serial.send('\necho sum=$((20+22))\n')
      await serial.until('sum=42')
      using screen = await ConsoleSocket.open(await consoleUrl('--novnc'))
      await screen.until('RFB 003.008\n')
    })

    test.skipIf(!isFullRun || whyNoBrowser() !== undefined)(
      'a browser shows its screen',
      async () => {
        await using browser = await Browser.start()
        const url = await consoleUrl('--novnc')

        await browser.open(url)

        await browser.until('the screen', 'document.getElementById("state").hidden')
        await browser.until('something on it', IS_DRAWN)
        const foreign = browser.requested.filter(
          (each) => /^(http|ws)/.test(each) && new URL(each).host !== new URL(url).host,
        )
        expect(foreign).toEqual([])
      },
    )

    test('a server of a user’s own image gets its metadata, and answers on its network', async () => {
      const { path } = await buildGuestImage(guestDirectory)
      const folder = join(checkout.home, 'files')
      mkdirSync(folder)
      const [keyFile, userData] = [join(folder, 'key.pub'), join(folder, 'user-data')]
      writeFileSync(keyFile, `${KEY}\n`)
      const script = 'echo user data ran on $(hostname)\ncat /mnt/config/openstack/content/*\n'
      writeFileSync(userData, `#!/bin/sh\n${script}`)
      const note = join(folder, 'note')
      writeFileSync(note, 'a file of the user\n')
      const formats = ['--disk-format', 'qcow2', '--container-format', 'bare']
      await openstack('image', 'create', ...formats, '--file', path, 'own')
      await openstack('keypair', 'create', '--public-key', keyFile, 'mine')
      const what = ['--image', 'own', '--flavor', 'm1.tiny', '--network', 'private']
      const extras = ['--key-name', 'mine', '--user-data', userData, '--property', 'role=web']
      const files = ['--file', `/etc/note=${note}`]

      await openstack(
        ...['--os-compute-api-version', '2.56', 'server', 'create', '--wait'],
        ...[...what, ...extras, ...files, 'second'],
      )

      await untilConsole('second', 'READY')
      const server = await show('second')
      const log = await consoleOf('second')
      expect(server).toMatchObject({ status: 'ACTIVE', properties: { role: 'web' } })
      expect(log).toContain(`uuid=${String(server['id'])} hostname=second.novalocal`)
      expect(log).toContain(`key=${KEY}`)
      expect(log).toContain('user data ran on second.novalocal')
      expect(log).toContain('a file of the user')
      const address = await addressOf('second')
      expect(log).toContain(`address eth0 ${address}`)
      const outer = (await openstack('floating', 'ip', 'create', 'public', ...NAME_ONLY)).trim()
      await openstack('server', 'add', 'floating', 'ip', 'second', outer)
      const outside = await runningHolder(join(checkout.home, 'ovn', 'underlay'))
      const fetch = () =>
        runInside(outside!, 'curl', [...CURL, `http://${outer}/`], { timeoutMs: 5_000 }).then(
          ({ stdout }) => stdout.trim(),
          () => '',
        )
      expect(await fetch(), 'the default group lets in no web traffic').toBe('')
      const rule = ['security', 'group', 'rule', 'create', '--protocol', 'tcp', '--dst-port', '80']
      await openstack(...rule, 'default')
      await expect.poll(fetch).toBe('second.novalocal')
    })

    test.skipIf(!isFullRun)(
      'a server pauses, goes on, stops as its guest wishes, starts and reboots',
      async () => {
        await openstack('server', 'pause', 'second')
        await untilStatus('second', 'PAUSED')
        await openstack('server', 'unpause', 'second')
        await untilStatus('second', 'ACTIVE')
        await openstack('server', 'stop', 'second')
        await untilStatus('second', 'SHUTOFF')
        expect(await consoleOf('second')).toContain('power button pressed')

        await openstack('server', 'start', 'second')
        await untilConsole('second', 'boot 2 of this disk')
        await untilConsole('second', 'press Enter for a shell')
        await openstack('server', 'reboot', '--wait', 'second')

        await untilConsole('second', 'boot 3 of this disk')
      },
    )

    test.skipIf(!isFullRun)(
      'a server is saved, booted from its snapshot, shelved and unshelved from its image',
      async () => {
        const boots = (await consoleOf('second')).matchAll(/boot (\d+) of this disk/g)
        const count = Math.max(...Array.from(boots, ([, nth]) => Number(nth)))
        await openstack('server', 'image', 'create', '--wait', '--name', 'saved', 'second')
        const what = ['--image', 'saved', '--flavor', 'm1.tiny', '--network', 'private']
        await openstack('server', 'create', '--wait', ...what, 'third')
        await untilConsole('third', `boot ${count + 1} of this disk`)
        await untilConsole('third', 'press Enter for a shell')

        await openstack('server', 'shelve', 'third')
        await untilStatus('third', 'SHELVED_OFFLOADED')
        await openstack('server', 'unshelve', 'third')
        await untilStatus('third', 'ACTIVE')

        await untilConsole('third', `boot ${count + 2} of this disk`)
        await openstack('server', 'delete', '--wait', 'third')
        await openstack('image', 'delete', 'saved')
      },
      600_000,
    )

    test('a server that is deleted is gone', async () => {
      await openstack('server', 'delete', '--wait', 'second')

      expect(await statusOf('second')).toBeUndefined()
    })

    test.skipIf(!isFullRun)('a server without a network boots, too', async () => {
      const version = ['--os-compute-api-version', '2.37']
      const what = ['--image', 'tiny', '--flavor', 'm1.tiny', '--nic', 'none']

      await openstack(...version, 'server', 'create', '--wait', ...what, 'bare')

      await untilConsole('bare', 'READY')
      expect(await consoleOf('bare')).not.toContain('nic eth0')
      await openstack('server', 'delete', '--wait', 'bare')
    })

    test('a guest and a network of another owner are not listed, counted or touched', async () => {
      const listed = await openstackAs(
        'weir-admin',
        'server',
        'list',
        '--all-projects',
        '-f',
        'json',
      )
      const [server] = JSON.parse(listed) as readonly { readonly Name: string }[]

      expect(server?.Name).toBe('first')
      expect(listed).not.toContain('foreign')
      expect(await virsh('list', '--name')).toContain('foreign')
      expect(await virsh('net-list', '--name')).toContain('foreign')
    })

    test.runIf(isFullRun)(
      'after down and up a server that ran runs again, and the machine is as it was',
      async () => {
        expect(await machineNetwork()).toEqual(before)
        const first = await show('first')

        await checkout.succeed('down')
        expect(await machineNetwork()).toEqual(before)
        await checkout.succeed('up')

        await untilConsole('first', 'boot 2 of this disk')
        expect(await show('first')).toMatchObject({
          id: first['id'],
          status: 'ACTIVE',
          addresses: first['addresses'],
        })
        await expect
          .poll(() => consoleOf('first').then((log) => log.match(/READY after/g)?.length), {
            timeout: BOOT_MS,
            interval: 2_000,
          })
          .toBe(2)
      },
    )
  },
)
