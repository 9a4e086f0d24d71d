import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Checkout } from '../env/checkout.ts'
import { isFullRun } from '../env/full-run.ts'
import { machineNetwork } from './machine-network.ts'
import { whyNoGuests } from './requirements.ts'

// Goal: one command starts a deployment of emulated machines whose servers OVN connects, and another removes all of it.

const COMMANDS = ['ipmi_sim', 'qemu-system-x86_64', 'cpio', 'ovs-vswitchd', 'ovn-northd', 'ssh']
const why = isFullRun ? whyNoGuests(COMMANDS) : 'only with --all'
/** Each machine boots a ramdisk twice before a server gets it. */
const UP_MS = 900_000

describe.skipIf(why !== undefined)(
  `a deployment of machines on OVN${why === undefined ? '' : ` (skipped: ${why})`}`,
  () => {
    let checkout: Checkout
    let before: Awaited<ReturnType<typeof machineNetwork>>

    beforeAll(async () => {
      before = await machineNetwork()
      checkout = new Checkout()
      const size = ['--cells', '1', '--hosts', '1']
      await checkout.succeed('up', '--driver', 'baremetal', '--network', 'ovn', ...size)
    }, UP_MS)
    afterAll(() => checkout?.[Symbol.asyncDispose](), 60_000)

    test(
      'leads to its server by a floating IP, also once it was down',
      async () => {
        const nodes = JSON.parse(await checkout.succeed('node', 'list', '-o', 'json')) as {
          readonly nics: readonly { readonly mac_address: string; readonly segment: string }[]
        }[]
        expect(nodes).toHaveLength(2)
        for (const { nics } of nodes) expect(nics).toMatchObject([{ segment: 'site' }])
        expect((await checkout.succeed('ssh', 'first', 'hostname')).trim()).toMatch(/^first/)
        expect(await checkout.succeed('status')).toMatch(/switch-north-1 +up/)

        await checkout.succeed('down')
        await checkout.succeed('up')
        expect((await checkout.succeed('ssh', 'first', 'hostname')).trim()).toMatch(/^first/)
      },
      UP_MS,
    )

    test("leaves the machine's network unchanged", async () => {
      await checkout.succeed('down')
      expect(await machineNetwork()).toEqual(before)
    }, 120_000)
  },
)
