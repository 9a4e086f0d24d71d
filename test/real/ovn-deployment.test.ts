import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { waitFor } from '#common/wait-for.ts'
import { OUTSIDE } from '#deploy/ovn/underlay.ts'
import { Checkout } from '../env/checkout.ts'
import { isFullRun } from '../env/full-run.ts'
import { machineNetwork } from './machine-network.ts'
import { whyNoGuests } from './requirements.ts'

// Goal: servers of one network reach each other and the outside, whichever cells they are in, and in the long run also after
// a restart of the deployment.

const COMMANDS = [
  'libvirtd',
  'qemu-system-x86_64',
  'syslinux',
  'openstack',
  'ovs-vswitchd',
  'ovn-northd',
  'ssh',
]
const COMMAND_MS = 120_000
const STATE_MS = 150_000
const why = whyNoGuests(COMMANDS)

describe.skipIf(why !== undefined)(
  `a deployment whose servers OVN joins${why === undefined ? '' : ` (skipped: ${why})`}`,
  () => {
    let checkout: Checkout
    let before: Awaited<ReturnType<typeof machineNetwork>>

    beforeAll(async () => {
      before = await machineNetwork()
      checkout = new Checkout()
      const size = ['--cells', '2', '--hosts', '1']
      await checkout.succeed('up', '--driver', 'libvirt', '--network', 'ovn', ...size)
    }, 300_000)

    afterAll(() => checkout?.[Symbol.asyncDispose](), 60_000)

    const openstack = async (...args: readonly string[]) => {
      const env = {
        PATH: '/usr/bin:/bin',
        HOME: checkout.home,
        OS_CLIENT_CONFIG_FILE: checkout.cloudsFile,
        OS_CLOUD: 'weir',
      }
      const options = { env, timeout: COMMAND_MS }
      return (await promisify(execFile)('openstack', [...args], options)).stdout
    }
    const addressOf = async (name: string) =>
      /(?:\d+\.){3}\d+/.exec(
        await openstack('server', 'show', name, '-f', 'value', '-c', 'addresses'),
      )![0]
    /** How often the guest's disk was booted, as the disk itself has it. */
    const bootsOf = async (name: string) => {
      const sector = 'dd if=/dev/vda bs=512 skip=64 count=1 2>/dev/null | head -c 8'
      return Number((await checkout.succeed('ssh', name, '--', sector)).trim())
    }
    /** Pings from the guest and reads the result on its console. */
    const reaches = (name: string, address: string) =>
      waitFor(
        `${name} to reach ${address}`,
        async () => {
          const text = await openstack('console', 'log', 'show', '--lines', '5', name)
          return text.includes(`weir-guest: ${address} answers`)
        },
        STATE_MS,
      )

    test('joins servers of two cells', async () => {
      const first = await addressOf('first')
      const script = join(checkout.home, 'ping.sh')
      const ping = `ping -c 1 -W 1 $i >/dev/null && echo "weir-guest: $i answers" >/dev/console`
      const both = `for i in ${first} ${OUTSIDE.address}; do ${ping}; done`
      writeFileSync(script, `#!/bin/sh\nwhile sleep 1; do ${both}; done &\n`)
      const boot = ['--flavor', 'm1.tiny', '--image', 'tiny', '--network', 'private', '--wait']
      const hint = await openstack('server', 'show', 'first', '-f', 'value', '-c', 'id')
      const apart = ['--hint', `different_host=${hint.trim()}`]
      await openstack('server', 'create', ...boot, ...apart, '--user-data', script, 'second')

      await reaches('second', first)
      // By an address of its own cell: the other one has that of the router.
      await reaches('second', OUTSIDE.address)
    }, 400_000)

    test.runIf(isFullRun)(
      'joins them again once it was down',
      async () => {
        const first = await addressOf('first')

        await checkout.succeed('down')
        await checkout.succeed('up')

        await reaches('second', first)
        await reaches('second', OUTSIDE.address)
      },
      400_000,
    )

    test('tests the tunnels between its cells', async () => {
      const output = await checkout.succeed('cell', 'verify')
      expect(output).toMatch(
        /^ok +north to south: Packets of 1558 bytes from north-1 .* arrive\.$/m,
      )
      expect(output).toMatch(/^ok +south to north: /m)
      expect(output).not.toContain('failed')
    }, 120_000)

    test('opens a shell on its first server, or gives the reason of a refusal', async () => {
      expect((await checkout.succeed('ssh', 'first', 'hostname')).trim()).toMatch(/^first/)
      expect(await checkout.weir('ssh', 'first', '--', 'exit 7')).toMatchObject({ code: 7 })
      const refusals = [
        [['ssh', 'nobody'], 'There is no server nobody'],
        [['ssh', 'second'], 'has no floating IP. Give it one'],
      ] as const
      for (const [args, output] of refusals)
        expect((await checkout.weir(...args)).stderr).toContain(output)
    }, 120_000)

    test.runIf(isFullRun)(
      'moves a server to the other cell with its disk, its address and its floating IP',
      async () => {
        const address = await addressOf('first')
        const before = await checkout.succeed('server', 'where', 'first')
        const boots = await bootsOf('first')

        await checkout.succeed('server', 'move', 'first', '--wait')

        expect(await checkout.succeed('server', 'where', 'first')).not.toBe(before)
        expect(await addressOf('first')).toBe(address)
        await waitFor(
          'a shell on the moved server',
          async () => (await checkout.weir('ssh', 'first', 'hostname')).stdout.startsWith('first'),
          STATE_MS,
        )
        expect(await bootsOf('first')).toBe(boots + 1)
        await reaches('second', address)
      },
      300_000,
    )

    test('is reached from the machine where that is asked for', async () => {
      const { stderr } = await checkout.weir('up', '--host-route')
      expect(stderr).toContain('by its new interface weir-public')
      const addresses = await openstack('floating', 'ip', 'list', '-f', 'value')
      const address = /203\.0\.113\.\d+/.exec(addresses)![0]
      const ping = () => promisify(execFile)('busybox', ['ping', '-c', '1', '-W', '2', address])
      await waitFor('the machine to reach the floating IP', () => ping().then(Boolean), STATE_MS)
    }, 200_000)

    test("leaves the machine's network unchanged", async () => {
      await checkout.succeed('down')
      expect(await machineNetwork()).toEqual(before)
    }, 120_000)
  },
)
