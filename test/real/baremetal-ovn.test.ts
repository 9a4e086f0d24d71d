import { createReadStream } from 'node:fs'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newId } from '#common/ids.ts'
import { secretsOf } from '#common/secrets.ts'
import { waitFor } from '#common/wait-for.ts'
import { ensureImage } from '#deploy/catalog/ensure-image.ts'
import { buildGuestImage } from '#deploy/guest/build-guest-image.ts'
import { bridgeNic, writeBridgeHelper } from '#deploy/machine/bridge-helper.ts'
import { EMULATED_KERNEL } from '#deploy/machine/machine-files.ts'
import {
  endNamespace,
  type Holder,
  runInside,
  startNamespace,
} from '#deploy/namespace/namespace.ts'
import { type RunningOvnCentral, startOvnCentral } from '#deploy/ovn/central.ts'
import { type RunningOvnHost, startOvnHost } from '#deploy/ovn/host.ts'
import { type RunningUnderlay, startUnderlay } from '#deploy/ovn/underlay.ts'
import { guestDirectory, homeDirectory } from '#deploy/paths.ts'
import { findProgram } from '#deploy/process/find-program.ts'
import { freePort } from '#deploy/process/free-port.ts'
import { buildRamdisk } from '#deploy/ramdisk/build-ramdisk.ts'
import { enrolledNode } from '#drivers/baremetal/nodes/enrolled-node.ts'
import { NEW_NODE, writeNodeRecord } from '#drivers/baremetal/nodes/node-record.ts'
import { run } from '#drivers/run.ts'
import { isFullRun } from '#test/env/full-run.ts'
import type { ApiClient, Loose } from '../env/api/client.ts'
import { createServer, SERVERS, showServer, untilGone, untilStatus } from '../env/api/servers.ts'
import { type Cloud, startCloud } from '../env/cloud.ts'
import { type DrivenHost, startDrivenHost } from '../env/driven-host.ts'
import { expectInvariants } from '../env/invariants.ts'
import { WeirCommand } from '../env/weir-command.ts'
import { type SimulatedMachine, startMachine } from './machine/simulated-machine.ts'
import { plugInto } from './ovn-world.ts'
import { whyNoGuests } from './requirements.ts'

// Goal: a server on a machine has its port on a provider network of the cell: the port has the MAC address of the
// machine's NIC, OVN gives the machine its address, and the machine is cleaned on a separate network.

const COMMANDS = [
  'ipmi_sim',
  'qemu-system-x86_64',
  'qemu-img',
  'cpio',
  'ovs-vswitchd',
  'ovn-northd',
]
const why = whyNoGuests(COMMANDS)
const START_MS = 300_000
const TEST_MS = 300_000
/** Emulated, on a busy machine. */
const BOOT = { timeout: 150_000, interval: 250 }
const STEP_MS = 20_000
const DISK_MB = 64
const BOOT_MAC = '52:54:00:12:35:01'
const SITE_MAC = '52:54:00:12:35:02'
const SITE = 'site'
const SECRET_KEY = '5a'.repeat(32)
const ADDRESS = '10.71.0.7'
const GUEST_ADDRESS = '10.71.0.8'
const NETWORKING = '/networking/v2.0'
const PINGS = `#!/bin/sh
while sleep 1; do ping -c 1 -W 1 ${GUEST_ADDRESS} >/dev/null && echo "weir-guest: guest answers"; done &
`

type Made = Readonly<Record<string, Readonly<Record<string, unknown>> & { readonly id: string }>>

describe.skipIf(why !== undefined || !isFullRun)(
  `a machine on a provider network${why === undefined ? '' : ` (skipped: ${why})`}`,
  () => {
    const owned = new AsyncDisposableStack()
    let underlay: RunningUnderlay
    let central: RunningOvnCentral
    let holder: Holder
    let ovn: RunningOvnHost
    let machine: SimulatedMachine
    let cloud: Cloud
    let host: DrivenHost
    let admin: ApiClient
    let demo: ApiClient

    const make = async (as: ApiClient, what: string, fields: object) => {
      const { status, body } = await as.post<Made>(`${NETWORKING}/${what.replaceAll('_', '-')}s`, {
        [what]: fields,
      })
      if (status !== 201) throw new Error(`${what}: ${status} ${JSON.stringify(body)}`)
      return body[what]!
    }
    const portOf = async (id: unknown) =>
      (await demo.get<Made>(`${NETWORKING}/ports/${String(id)}`)).body['port']!
    const node = async () =>
      (await new WeirCommand(cloud, 'admin').json('node show rack-1')) as Loose
    /** True while a frame of the machine's NIC for servers has been seen on the site's network since it was switched on. */
    const isSeenOnSite = async () => {
      const { stdout } = await underlay.run('bridge', ['fdb', 'show', 'br', SITE], {
        timeoutMs: STEP_MS,
      })
      return stdout.includes(SITE_MAC)
    }
    const northbound = async (...find: readonly string[]) => {
      const args = [`--db=${central.northbound}`, '--format=csv', '--no-headings', 'find', ...find]
      return (await run(findProgram('ovn-nbctl'), args, { timeoutMs: STEP_MS })).stdout.trim()
    }

    beforeAll(async () => {
      const directory = await mkdtemp(join(tmpdir(), 'weir-bo-'))
      owned.defer(() => rm(directory, { recursive: true, force: true }))
      ;[underlay, central, holder] = await Promise.all([
        startUnderlay(join(directory, 'underlay')),
        startOvnCentral(join(directory, 'central')),
        startNamespace(),
      ])
      owned.defer(() => underlay.stop())
      owned.defer(() => central.stop())
      owned.defer(() => endNamespace(holder))
      const id = newId()
      ovn = await startOvnHost({
        ...{ holder, directory: join(directory, 'host'), chassis: id },
        southbound: central.southbound,
        underlay: { ...underlay, address: '10.255.0.1' },
        physicalNetworks: { [SITE]: underlay.siteBridge },
      })
      const { northbound: nb, southbound: sb } = central
      cloud = owned.use(
        await startCloud({
          ...{ gateways: 1, cells: 1, processesPerCell: 1, hostsPerCell: 0 },
          cell: { CELL_OVN_NORTHBOUND: nb, CELL_OVN_SOUTHBOUND: sb },
        }),
      )
      ;[admin, demo] = [cloud.as('admin'), cloud.as('demo')]
      const port = await freePort()
      const bootUrl = `http://10.0.2.2:${port}`
      const bootfile = `${bootUrl}/boot.ipxe?mac=${BOOT_MAC}`
      const nic = `user,model=virtio-net-pci,mac=${BOOT_MAC},bootfile=${bootfile}`
      const qemu = ['-nic', nic, ...bridgeNic(underlay.siteBridge, SITE_MAC)]
      machine = owned.use(await startMachine({ diskMb: DISK_MB, qemu }))
      await writeBridgeHelper(machine.directory, underlay.holder.pid)
      const { kernelPath, initrdPath } = await buildRamdisk(join(homeDirectory, 'images'))
      const settings = {
        ...{ boot_url: bootUrl, boot_address: '127.0.0.1', secret_key: SECRET_KEY },
        kernel_append_params: EMULATED_KERNEL,
        ...{ ramdisk_kernel: kernelPath, ramdisk_initrd: initrdPath, network: 'ovn' },
        ovs_database: `unix:${join(directory, 'host', 'db.sock')}`,
        network_namespace: `/proc/${holder.pid}/ns/net`,
      }
      await enrolled(join(cloud.foundation.directory, `baremetal-${id.slice(0, 8)}`))
      host = owned.use(await startDrivenHost(cloud, 'baremetal', settings, id))
    }, START_MS)
    afterAll(() => owned.disposeAsync(), START_MS)

    /** A clean machine, as its host keeps it: each boot of the ramdisk takes its time. */
    async function enrolled(folder: string): Promise<void> {
      const node = {
        ...{ name: 'rack-1', macAddress: BOOT_MAC, usesEfi: false, bmc: machine.bmc },
        ...{ resourceClass: 'CUSTOM_METAL', nics: [{ macAddress: SITE_MAC, segment: SITE }] },
      }
      await mkdir(folder, { recursive: true })
      const nodes = [enrolledNode(node, secretsOf(SECRET_KEY))]
      await writeFile(join(folder, 'nodes.json'), JSON.stringify({ nodes }))
      const parts = {
        ...{ cpus: 1, cpuModel: 'QEMU', architecture: 'x86_64', memoryMb: 240 },
        disks: [{ name: 'vda', sizeBytes: DISK_MB * 1024 ** 2 }],
        macAddresses: [BOOT_MAC, SITE_MAC],
      }
      const record = { ...NEW_NODE, state: 'available', parts } as const
      await writeNodeRecord(join(folder, 'nodes', 'rack-1.json'), record)
    }

    const untilError = (id: string) => untilStatus(demo, id, 'ERROR', BOOT.timeout)

    async function siteNetwork(): Promise<string> {
      const wanted = {
        ...{ name: 'site', mtu: 1_500, 'provider:network_type': 'flat' },
        'provider:physical_network': SITE,
        project_id: await cloud.projectId('demo'),
      }
      const { id } = await waitFor(
        'the site to be mapped',
        () => make(admin, 'network', wanted),
        STEP_MS,
      )
      const subnet = { network_id: id, ip_version: 4, cidr: '10.71.0.0/24', gateway_ip: null }
      await make(admin, 'subnet', subnet)
      return id
    }

    async function flavorRef(): Promise<string> {
      const id = 'metal'
      const flavor = { name: id, ram: 128, vcpus: 1, disk: 1, id }
      expect((await admin.post('/compute/v2.1/flavors', { flavor })).status).toBe(200)
      const nothing = {
        'resources:VCPU': '0',
        'resources:MEMORY_MB': '0',
        'resources:DISK_GB': '0',
      }
      const extra_specs = { 'resources:CUSTOM_METAL': '1', ...nothing }
      const at = `/compute/v2.1/flavors/${id}/os-extra_specs`
      expect((await admin.post(at, { extra_specs })).status).toBe(200)
      return id
    }

    async function image(): Promise<string> {
      const { path } = await buildGuestImage(guestDirectory)
      const session = { endpoint: cloud.endpoints[0]!, token: await admin.token() }
      await ensureImage(session, {
        ...{ name: 'tiny-metal', diskFormat: 'qcow2', containerFormat: 'bare' },
        ...{ minDiskGb: 0, minRamMb: 0, properties: {} },
        content: () => createReadStream(path),
      })
      type Images = { readonly images: readonly [{ readonly id: string }] }
      return (await admin.get<Images>('/image/v2/images?name=tiny-metal')).body.images[0].id
    }

    test('is enrolled with NICs for servers, without the NIC that boots it', async () => {
      const at = `/federation/v1/hosts/${host.id}/nodes`
      const { body } = await admin.get<Loose>(`${at}/rack-1`)
      const nics = [{ mac_address: SITE_MAC, segment: SITE }]
      expect(body).toMatchObject({ mac_address: BOOT_MAC, state: 'available', nics })
      const refused = [
        [`52:54:00:12:36:01=${SITE}`, 2, 'boots the machine'],
        ['52:54:00:12:36:02=provisioning', 2, 'from which machines boot'],
        ['52:54:00:12:36:02', 2, 'Write MAC=NETWORK'],
        [`${SITE_MAC.toUpperCase()}=${SITE}`, 1, 'Node rack-1 has this name, MAC address or BMC'],
      ] as const
      const weir = new WeirCommand(cloud, 'admin')
      for (const [nic, code, reason] of refused) {
        const added = await weir.run(`node add rack-2 --mac 52:54:00:12:36:01 --nic ${nic}`)
        expect({ code: added.code, err: added.err }).toEqual({
          code,
          err: expect.stringContaining(reason),
        })
      }
    })

    test(
      'has the address and the MAC address of its port, and reaches guests',
      async () => {
        const network = await siteNetwork()
        const wanted = { flavorRef: await flavorRef(), imageRef: await image() }
        const tenant = await createServer(cloud, demo, wanted)
        expect((await untilError(tenant)).fault?.message).toContain('use one of these')
        const trace = await admin.get<Loose>(`/federation/v1/servers/${tenant}/trace`)
        expect(JSON.stringify(trace.body)).toContain('which tenant networks do not reach')
        await demo.delete(`${SERVERS}/${tenant}`)

        const fixed = (address: string) => ({
          network_id: network,
          fixed_ips: [{ ip_address: address }],
        })
        const chosen = { network_id: network, mac_address: '52:54:00:12:35:99' }
        const stranger = await make(demo, 'port', chosen)
        const misfit = await createServer(cloud, demo, {
          ...wanted,
          networks: [{ port: stranger.id }],
        })
        await untilError(misfit)
        const why = JSON.stringify((await showServer(admin, misfit)).fault)
        expect(why).toContain('has the MAC address 52:54:00:12:35:99')
        await demo.delete(`${SERVERS}/${misfit}`)

        const port = await make(demo, 'port', fixed(ADDRESS))
        const guestPort = await make(demo, 'port', fixed(GUEST_ADDRESS))
        const pings = { ethertype: 'IPv4', protocol: 'icmp', direction: 'ingress' }
        const [group] = guestPort['security_groups'] as readonly string[]
        await make(demo, 'security_group_rule', { ...pings, security_group_id: group })
        const id = await createServer(cloud, demo, {
          ...wanted,
          networks: [{ port: port.id }],
          user_data: Buffer.from(PINGS).toString('base64'),
        })
        await untilStatus(demo, id, 'ACTIVE', BOOT.timeout)
        expect(await portOf(port.id)).toMatchObject({ status: 'ACTIVE', mac_address: SITE_MAC })
        expect(JSON.stringify((await showServer(demo, id)).addresses)).toContain(SITE_MAC)

        const guest = await plugInto(
          { holder, ovn },
          guestPort.id,
          String(guestPort['mac_address']),
        )
        owned.defer(() => endNamespace(guest))
        const inside = (...args: string[]) => runInside(guest, 'ip', args, { timeoutMs: STEP_MS })
        await inside('address', 'add', `${GUEST_ADDRESS}/24`, 'dev', 'eth0')
        await expect.poll(() => machine.consoleLog(), BOOT).toContain(`address eth1 ${ADDRESS}`)
        await expect.poll(() => machine.consoleLog(), BOOT).toContain(`metadata: uuid=${id}`)
        await expect.poll(() => machine.consoleLog(), BOOT).toContain('weir-guest: guest answers')
        const ping = ['ping', '-c', '1', '-W', '1', ADDRESS]
        await waitFor(
          'the machine to answer the guest',
          () => runInside(guest, 'busybox', ping, { timeoutMs: STEP_MS }),
          STEP_MS,
        )

        await demo.delete(`${SERVERS}/${id}`)
        await expect.poll(node, BOOT).toMatchObject({ state: 'cleaning' })
        let isSeen = false
        const cleaning = async () => {
          isSeen ||= await isSeenOnSite()
          return { state: (await node())['state'], isSeen }
        }
        await expect.poll(cleaning, BOOT).toEqual({ state: 'available', isSeen: false })
        await untilGone(demo, id)
        expect(
          (await readFile(join(machine.directory, 'disk.img'))).every((byte) => byte === 0),
        ).toBe(true)
        expect(await portOf(port.id)).toMatchObject({
          ...{ status: 'DOWN', device_id: '', mac_address: port['mac_address'] },
        })
        await expect.poll(() => northbound('HA_Chassis_Group')).toBe('')
        expect(await northbound('Logical_Switch_Port', 'type=external')).toBe('')
        await expectInvariants(cloud)
      },
      TEST_MS,
    )
  },
)
