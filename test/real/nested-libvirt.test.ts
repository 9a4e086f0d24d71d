import { createReadStream } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { callApi } from '#deploy/api/session.ts'
import { ensureImage } from '#deploy/catalog/ensure-image.ts'
import { buildGuestImage } from '#deploy/guest/build-guest-image.ts'
import { guestDirectory } from '#deploy/paths.ts'
import { freePort } from '#deploy/process/free-port.ts'
import { createServer, untilGone } from '../env/api/servers.ts'
import { Checkout } from '../env/checkout.ts'
import { type Cloud, startCloud } from '../env/cloud.ts'
import { startDrivenHost } from '../env/driven-host.ts'
import { isFullRun } from '../env/full-run.ts'
import { nestedSettingsFor } from '../env/nested-settings.ts'
import { whyNoGuests } from './requirements.ts'

const COMMANDS = ['libvirtd', 'virsh', 'qemu-system-x86_64', 'dnsmasq', 'syslinux']
const START_MS = 400_000
const TEST_MS = 300_000
const BOOT = { timeout: 150_000, interval: 500 }
const why = isFullRun ? whyNoGuests(COMMANDS) : 'with --all only'

describe.skipIf(why !== undefined)(
  `a libvirt guest two nested clouds${why === undefined ? '' : ` (skipped: ${why})`}`,
  () => {
    const owned = new AsyncDisposableStack()
    let bottom: Checkout
    let top: Cloud
    let imageRef: string
    const find = async (name: string) =>
      (await bottom.servers()).find((server) => server.name === name)

    beforeAll(async () => {
      bottom = owned.use(new Checkout())
      const size = ['--cells', '1', '--hosts', '1', '--port', String(await freePort())]
      await bottom.succeed('up', '--driver', 'libvirt', ...size)
      const bare = { gateways: 1, cells: 1, processesPerCell: 1, hostsPerCell: 0 }
      top = owned.use(await startCloud(bare))
      const middle = owned.use(await startCloud(bare))
      const real = { hypervisor_type: 'QEMU' }
      const { auth_url, username: user, password, project_name: project } = bottom.cloud('weir')
      const below = { auth_url, user, password, project }
      owned.use(await startDrivenHost(top, 'nested', { ...nestedSettingsFor(middle), ...real }))
      owned.use(
        await startDrivenHost(middle, 'nested', {
          ...nestedSettingsFor(middle),
          ...real,
          ...below,
        }),
      )
      imageRef = await upload(top)
    }, START_MS)
    afterAll(() => owned.disposeAsync(), START_MS)

    test(
      'boots a server that the top shows, acts on and deletes',
      async () => {
        const demo = top.as('demo')
        const networks = [{ uuid: await makeNetwork(top) }]
        const id = await createServer(top, demo, { name: 'deep', imageRef, networks })
        const path = `/compute/v2.1/servers/${id}`
        const act = (body: object) => demo.post<{ output: string }>(`${path}/action`, body)
        type Shown = { server: { status: string; fault?: { details?: string } } }
        const status = async () => {
          const { body } = await top.as('admin').get<Shown>(path)
          const { status: shown, fault } = body.server
          return fault === undefined ? shown : `${shown}: ${JSON.stringify(fault)}`
        }
        await expect.poll(status, BOOT).toBe('ACTIVE')
        const log = async () => (await act({ 'os-getConsoleOutput': {} })).body.output
        await expect.poll(log, BOOT).toContain('weir-guest')

        await act({ 'os-stop': null })
        await expect.poll(status, BOOT).toBe('SHUTOFF')
        await act({ 'os-start': null })
        await expect.poll(status, BOOT).toBe('ACTIVE')
        const session = await bottom.signIn('weir')
        await callApi(session, {
          method: 'POST',
          path: `/compute/v2.1/servers/${(await find('deep'))?.id}/action`,
          body: { 'os-stop': null },
        })
        await expect.poll(status, BOOT).toBe('SHUTOFF')

        await demo.delete(path)
        await expect.poll(() => find('deep'), BOOT).toBeUndefined()
        await untilGone(demo, id)
      },
      TEST_MS,
    )
  },
)

/** The id of a network whose addresses no other network of the libvirt host has: its own address there is the host's. */
async function makeNetwork(cloud: Cloud): Promise<string> {
  const demo = cloud.as('demo')
  type Made = { readonly network: { readonly id: string } }
  const { body } = await demo.post<Made>('/networking/v2.0/networks', { network: { name: 'deep' } })
  const { id: network_id } = body.network
  const subnet = { network_id, cidr: '10.99.7.0/24', ip_version: 4 }
  await demo.post('/networking/v2.0/subnets', { subnet })
  return network_id
}

/** The id at the top of the guest that the bottom has, too. */
async function upload(cloud: Cloud): Promise<string> {
  const guest = await buildGuestImage(guestDirectory)
  const admin = cloud.as('admin')
  const session = { endpoint: cloud.endpoints[0]!, token: await admin.token() }
  await ensureImage(session, {
    ...{ name: 'guest', diskFormat: 'qcow2', containerFormat: 'bare' },
    ...{ minDiskGb: 1, minRamMb: 64, properties: {} },
    content: () => createReadStream(guest.path),
  })
  type Images = { readonly images: readonly [{ readonly id: string }] }
  return (await admin.get<Images>('/image/v2/images?name=guest')).body.images[0].id
}
