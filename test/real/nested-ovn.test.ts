import { execFile } from 'node:child_process'
import { createReadStream } from 'node:fs'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { waitFor } from '#common/wait-for.ts'
import { callApi } from '#deploy/api/session.ts'
import { ensureImage } from '#deploy/catalog/ensure-image.ts'
import { layoutIn } from '#deploy/deployment/layout.ts'
import { buildGuestImage } from '#deploy/guest/build-guest-image.ts'
import { outsidePid } from '#deploy/ovn/deployment-network.ts'
import { guestDirectory } from '#deploy/paths.ts'
import { freePort } from '#deploy/process/free-port.ts'
import { createServer, deleteServer, untilStatus } from '../env/api/servers.ts'
import { Checkout } from '../env/checkout.ts'
import { type Cloud, startCloud } from '../env/cloud.ts'
import { startDrivenHost } from '../env/driven-host.ts'
import { isFullRun } from '../env/full-run.ts'
import { nestedSettingsFor } from '../env/nested-settings.ts'
import { whyNoGuests } from './requirements.ts'

// Goal: the guest answers at a floating IP that was requested at the top, outside the nested cloud.

const COMMANDS = ['libvirtd', 'qemu-system-x86_64', 'syslinux', 'ovs-vswitchd', 'ovn-northd']
const START_MS = 400_000
const TEST_MS = 400_000
const BOOT_MS = 200_000
const STATE = { timeout: 100_000, interval: 500 }
const NETWORKING = '/networking/v2.0'
const why = isFullRun ? whyNoGuests(COMMANDS) : 'with --all only'

type Objects = Readonly<Record<string, Readonly<Record<string, unknown>> & { readonly id: string }>>
type Lists = Readonly<Record<string, readonly Objects[string][]>>

describe.skipIf(why !== undefined)(
  `a floating IP of a guest in the nested cloud${why === undefined ? '' : ` (skipped: ${why})`}`,
  () => {
    const owned = new AsyncDisposableStack()
    let bottom: Checkout
    let top: Cloud
    const make = async (what: string, fields: object, as: 'admin' | 'demo' = 'demo') => {
      const client = top.as(as)
      const { status, body } = await client.post<Objects>(`${NETWORKING}/${pathOf(what)}s`, {
        [what]: fields,
      })
      if (status !== 201) throw new Error(`${what}: ${status} ${JSON.stringify(body)}`)
      return body[what]!
    }
    /** What the nested cloud has of one kind, for its administrator. */
    const below = async (what: string) => {
      const session = await bottom.signIn('weir-admin')
      return (
        await callApi<Lists>(session, { method: 'GET', path: `${NETWORKING}/${pathOf(what)}` })
      )[what]!
    }
    const ours = async (what: string) =>
      (await below(what)).filter(({ name }) => String(name).startsWith('weir-'))

    beforeAll(async () => {
      bottom = owned.use(new Checkout())
      const size = ['--cells', '1', '--hosts', '1', '--port', String(await freePort())]
      await bottom.succeed('up', '--driver', 'libvirt', '--network', 'ovn', ...size)
      top = owned.use(
        await startCloud({ gateways: 1, cells: 1, processesPerCell: 1, hostsPerCell: 0 }),
      )
      const {
        auth_url,
        username: user,
        password,
        project_name: project,
      } = bottom.cloud('weir-admin')
      const login = { auth_url, user, password, project, hypervisor_type: 'QEMU' }
      const settings = { ...nestedSettingsFor(top), ...login }
      owned.use(await startDrivenHost(top, 'nested', settings))
    }, START_MS)
    afterAll(() => owned.disposeAsync(), START_MS)

    test(
      'is answered outside, until it is given back',
      async () => {
        const demo = top.as('demo')
        const [there] = (await below('networks')).filter(({ name }) => name === 'public')
        const [range] = (await below('subnets')).filter(
          (subnet) => subnet['network_id'] === there!.id,
        )
        const external = await make(
          'network',
          {
            ...{ name: 'public', 'router:external': true, 'provider:network_type': 'flat' },
            'provider:physical_network': 'public',
          },
          'admin',
        )
        await make(
          'subnet',
          {
            ...{ network_id: external.id, ip_version: 4, enable_dhcp: false },
            ...{ cidr: range!['cidr'], gateway_ip: range!['gateway_ip'] },
            allocation_pools: [{ start: '203.0.113.200', end: '203.0.113.220' }],
          },
          'admin',
        )
        const network = await make('network', { name: 'lan' })
        const subnet = await make('subnet', {
          ...{ network_id: network.id, cidr: '10.99.8.0/24', ip_version: 4 },
        })
        const router = await make('router', {
          external_gateway_info: { network_id: external.id },
        })
        const interfaces = `${NETWORKING}/routers/${router.id}`
        await demo.put(`${interfaces}/add_router_interface`, { subnet_id: subnet.id })
        const group = await make('security_group', { name: 'pings' })
        await make('security_group_rule', {
          ...{ security_group_id: group.id, direction: 'ingress', protocol: 'icmp' },
        })
        const imageRef = await upload(top)
        const id = await createServer(top, demo, {
          ...{ name: 'deep', imageRef, networks: [{ uuid: network.id }] },
          security_groups: [{ name: 'pings' }],
        })
        await untilStatus(demo, id, 'ACTIVE', BOOT_MS)
        const { body } = await demo.get<Lists>(`${NETWORKING}/ports?device_id=${id}`)
        const ip = await make('floatingip', {
          ...{ floating_network_id: external.id, port_id: body['ports']![0]!.id },
        })
        const shown = async () =>
          (await top.as('admin').get<Objects>(`${NETWORKING}/floatingips/${ip.id}`)).body[
            'floatingip'
          ]

        await expect.poll(shown, STATE).toMatchObject({ status: 'ACTIVE', 'weir:problem': null })
        const address = String(ip['floating_ip_address'])
        const outside = await outsidePid(layoutIn(bottom.home))
        const ping = () =>
          promisify(execFile)('nsenter', [
            ...[`--net=/proc/${outside}/ns/net`, 'busybox', 'ping', '-c', '1', '-W', '2', address],
          ])
        await waitFor(`${address} to answer`, () => ping().then(Boolean, () => false), BOOT_MS)

        await demo.delete(`${NETWORKING}/floatingips/${ip.id}`)
        await expect
          .poll(
            async () => (await below('floatingips')).map((each) => each['floating_ip_address']),
            STATE,
          )
          .not.toContain(address)
        // OVN takes the address from its switches a moment later.
        const isSilent = () =>
          ping().then(
            () => false,
            () => true,
          )
        await waitFor(`${address} to be silent`, isSilent, BOOT_MS)
        await deleteServer(demo, id)
        await demo.put(`${interfaces}/remove_router_interface`, { subnet_id: subnet.id })
        await demo.delete(interfaces)
        for (const what of ['routers', 'networks', 'ports', 'security_groups'])
          await expect.poll(() => ours(what), STATE).toEqual([])
      },
      TEST_MS,
    )
  },
)

function pathOf(what: string): string {
  return what.replaceAll('_', '-')
}

/** The id at the top of the guest that the nested cloud has, too. */
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
