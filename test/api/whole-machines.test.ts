import { randomBytes } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ensureImage } from '#deploy/catalog/ensure-image.ts'
import { freePort } from '#deploy/process/free-port.ts'
import type { ApiClient, Loose } from '#test/env/api/client.ts'
import {
  activeServer,
  createServer,
  SERVERS,
  showServer,
  untilGone,
  untilStatus,
} from '#test/env/api/servers.ts'
import { type Cloud, startCloud } from '#test/env/cloud.ts'
import { startDrivenHost } from '#test/env/driven-host.ts'
import { expectInvariants } from '#test/env/invariants.ts'
import { NetbootMachine } from '#test/env/netboot-machine.ts'
import { WeirCommand } from '#test/env/weir-command.ts'

let cloud: Cloud
let demo: ApiClient
let admin: ApiClient

const driver = { machines: 'CUSTOM_GOLD=2', vcpus: '4', memory_mb: '4096', disk_gb: '40' }
const WHOLE = {
  'resources:CUSTOM_GOLD': '1',
  'resources:VCPU': '0',
  'resources:MEMORY_MB': '0',
  'resources:DISK_GB': '0',
}

beforeAll(async () => {
  cloud = await startCloud({ cells: 1, hostsPerCell: 1, driver })
  demo = cloud.as('demo')
  admin = cloud.as('admin')
})
afterAll(() => cloud?.[Symbol.asyncDispose]())

async function placement(path: string): Promise<Loose> {
  const { status, body } = await admin.get(`/placement${path}`, { version: '1.39' })
  expect(status).toBe(200)
  return body
}

async function providers(query: string): Promise<readonly { readonly uuid: string }[]> {
  const body = await placement(`/resource_providers?${query}`)
  return body['resource_providers'] as { uuid: string }[]
}

async function flavorWith(name: string, specs: Readonly<Record<string, string>>): Promise<string> {
  const flavor = { name, ram: 4096, vcpus: 4, disk: 40, id: name }
  expect((await admin.post('/compute/v2.1/flavors', { flavor })).status).toBe(200)
  const at = `/compute/v2.1/flavors/${name}/os-extra_specs`
  expect((await admin.post(at, { extra_specs: specs })).status).toBe(200)
  return name
}

test('servers of a class of machines get one machine each, until no machine is left', async () => {
  const flavorRef = await flavorWith('gold', WHOLE)
  const servers = [
    await activeServer(cloud, demo, { flavorRef }),
    await activeServer(cloud, demo, { flavorRef }),
  ]

  const third = await createServer(cloud, demo, { flavorRef })
  await untilStatus(demo, third, 'ERROR')
  expect((await showServer(demo, third)).fault).toMatchObject({
    message: expect.stringContaining('No valid host'),
  })
  const parts = await createServer(cloud, demo)
  await untilStatus(demo, parts, 'ERROR')

  expect(await providers('resources=VCPU:1')).toEqual([])
  const [host] = await providers('name=north-1')
  expect(await placement(`/resource_providers/${host!.uuid}/inventories`)).toMatchObject({
    inventories: {},
  })
  const [provider] = await providers('name=north-1_CUSTOM_GOLD')
  const inventories = await placement(`/resource_providers/${provider!.uuid}/inventories`)
  expect(inventories).toMatchObject({ inventories: { CUSTOM_GOLD: { total: 2, max_unit: 1 } } })
  const usages = () => placement(`/resource_providers/${provider!.uuid}/usages`)
  await expect.poll(usages).toMatchObject({ usages: { CUSTOM_GOLD: 2 } })
  expect(await placement(`/allocations/${servers[0]!.id}`)).toMatchObject({
    allocations: { [provider!.uuid]: { resources: { CUSTOM_GOLD: 1 } } },
  })
  const hypervisor = async () => {
    const path = '/compute/v2.1/os-hypervisors/detail'
    return (await admin.get<{ hypervisors: object[] }>(path)).body.hypervisors[0]
  }
  await expect.poll(hypervisor).toMatchObject({
    vcpus: 8,
    vcpus_used: 8,
    memory_mb_used: 8192,
    running_vms: 2,
  })

  for (const { id } of [...servers, { id: third }, { id: parts }]) {
    await demo.delete(`${SERVERS}/${id}`)
    await untilGone(demo, id)
  }
  await expectInvariants(cloud)
  const again = await activeServer(cloud, demo, { flavorRef })
  await demo.delete(`${SERVERS}/${again.id}`)
  await untilGone(demo, again.id)
})

interface PortShown {
  readonly id: string
  readonly mac_address: string
}

async function portsOf(query: string): Promise<readonly PortShown[]> {
  const { body } = await demo.get<{ ports: PortShown[] }>(`/networking/v2.0/ports?${query}`)
  return body.ports
}

async function macsIn(path: string): Promise<readonly unknown[]> {
  const { body } = await demo.get(path)
  return (
    JSON.stringify(body)
      .match(/(?<=mac_addr":")[^"]+/g)
      ?.toSorted() ?? []
  )
}

test('ports show the MAC addresses of the NICs they are, for as long as they are', async () => {
  const flavorRef = await flavorWith('gold-nics', WHOLE)
  const { network } = cloud.catalog
  const made = await demo.post<{ port: PortShown }>('/networking/v2.0/ports', {
    port: { network_id: network },
  })
  const { port } = made.body
  const networks = [{ port: port.id }, { uuid: network }]
  const { id } = await activeServer(cloud, demo, { flavorRef, networks })

  const ports = () => portsOf(`device_id=${id}`)
  const macs = async () => (await ports()).map(({ mac_address: mac }) => mac).toSorted()
  await expect
    .poll(macs)
    .toEqual([expect.stringMatching(/^52:.*:00$/), expect.stringMatching(/^52:.*:01$/)])
  const shown = await macs()
  expect(await macsIn(`${SERVERS}/${id}/os-interface`)).toEqual(shown)
  expect(await macsIn(`${SERVERS}/${id}`)).toEqual(shown)
  const own = (await ports()).find((each) => each.id === port.id)!.mac_address
  expect(own).not.toBe(port.mac_address)
  expect(await portsOf(`mac_address=${own}`)).toMatchObject([{ id: port.id }])
  expect(await portsOf(`mac_address=${port.mac_address}`)).toEqual([])

  const bound = await admin.get<{ port: object }>(`/networking/v2.0/ports/${port.id}`)
  expect(bound.body.port).toMatchObject({
    ...{ 'binding:vnic_type': 'baremetal', 'binding:vif_type': 'other' },
  })
  const same = { port: { network_id: network, mac_address: own } }
  const refused = await admin.post<Loose>('/networking/v2.0/ports', same)
  expect({ status: refused.status, text: JSON.stringify(refused.body) }).toEqual({
    status: 409,
    text: expect.stringContaining(`The mac address ${own} is in use.`),
  })

  // A change of the port keeps the address, and so does a change of the power state.
  const renamed = { port: { name: 'renamed' } }
  expect((await demo.put(`/networking/v2.0/ports/${port.id}`, renamed)).body).toMatchObject({
    port: { name: 'renamed', mac_address: own },
  })
  await demo.post(`${SERVERS}/${id}/action`, { 'os-stop': null })
  await untilStatus(demo, id, 'SHUTOFF')
  expect(await macs()).toEqual(shown)

  await demo.delete(`${SERVERS}/${id}`)
  await untilGone(demo, id)
  expect(await portsOf(`id=${port.id}`)).toMatchObject([
    { mac_address: port.mac_address, 'binding:vnic_type': 'normal' },
  ])
  expect(await portsOf(`mac_address=${port.mac_address}`)).toHaveLength(1)
  await demo.delete(`/networking/v2.0/ports/${port.id}`)
})

async function rawImage(content: Buffer): Promise<string> {
  const [endpoint = ''] = cloud.endpoints
  const name = 'machine'
  await ensureImage(
    { endpoint, token: await admin.token() },
    {
      name,
      diskFormat: 'raw',
      containerFormat: 'bare',
      minDiskGb: 0,
      minRamMb: 0,
      properties: {},
      content: () => Readable.from([content]),
    },
  )
  const { body } = await admin.get<{ images: readonly [{ id: string }] }>(
    `/image/v2/images?name=${name}`,
  )
  return body.images[0].id
}

test('machines are given to a host while it runs, get servers, and are taken away', async () => {
  const port = await freePort()
  const bootUrl = `http://127.0.0.1:${port}`
  await using host = await startDrivenHost(cloud, 'baremetal', {
    boot_url: bootUrl,
    ramdisk_kernel: '/dev/null',
    ramdisk_initrd: '/dev/null',
    secret_key: 'ab'.repeat(32),
  })
  const macAddress = '52:54:00:aa:bb:01'
  await using machine = new NetbootMachine(bootUrl, macAddress)
  const weir = new WeirCommand(cloud, 'admin')
  const { directory } = cloud.foundation
  const nodeIs = (name: string, like: object) =>
    expect.poll(() => weir.json(`node show ${name}`)).toMatchObject(like)

  // Its name is found on the only host that keeps machines, and its class is what flavors ask for.
  const added = await weir.json(`node add rack-1 --mac 52:54:00:AA:BB:01 --class CUSTOM_METAL`)
  expect(added).toMatchObject({ name: 'rack-1', mac_address: macAddress, bmc: null })
  await nodeIs('rack-1', { state: 'available', parts: { cpus: 4, memory_mb: 8192 } })
  expect((await weir.run('node list')).out).toMatch(/^rack-1 +baremetal-\w+ +available/m)
  expect(await weir.json('node sensors rack-1')).toEqual([])

  // A BMC that does not answer: the reason is shown, the password nowhere.
  const password = 'not-to-be-seen'
  await writeFile(join(directory, 'password'), `${password}\n`)
  const silent = '--mac 52:54:00:aa:bb:02 --bmc 127.0.0.1:9 --bmc-user weir'
  const run = await weir.run(`node add rack-2 ${silent} --bmc-password-file password -o json`)
  expect(run).toMatchObject({ code: 0 })
  await nodeIs('rack-2', { state: 'inspect-failed', bmc: { port: 9, user: 'weir' } })
  const listed = await weir.run('node list -o json')
  expect(listed.out).toContain('rack-2')
  const kept = await readFile(join(directory, host.name, 'nodes.json'), 'utf8')
  expect(kept).toContain('rack-2')
  for (const text of [run.out, listed.out, kept]) expect(text).not.toContain(password)
  expect(await weir.run('node sensors rack-2')).toMatchObject({ code: 1 })
  expect(await weir.run(`node add rack-3 ${silent}`)).toMatchObject({ code: 1 })

  const imageRef = await rawImage(randomBytes(4096))
  const flavorRef = await flavorWith('metal', { ...WHOLE, 'resources:CUSTOM_METAL': '1' })
  await admin.delete(`/compute/v2.1/flavors/${flavorRef}/os-extra_specs/resources:CUSTOM_GOLD`)
  const hasRoom = async () => (await providers('resources=CUSTOM_METAL:1')).length
  await expect.poll(hasRoom).toBe(1)
  const server = await activeServer(cloud, demo, { flavorRef, imageRef })
  expect(machine.disk).toHaveLength(4096)
  await nodeIs('rack-1', { state: 'active', server_id: server.id, is_on: true })
  await expect
    .poll(() => portsOf(`device_id=${server.id}`))
    .toMatchObject([{ mac_address: macAddress }])
  for (const refused of ['inspect rack-1', 'remove rack-1']) {
    const { code, err } = await weir.run(`node ${refused}`)
    expect({ code, err }).toEqual({ code: 1, err: expect.stringContaining(server.id) })
  }
  await demo.delete(`${SERVERS}/${server.id}`)
  await untilGone(demo, server.id)
  await nodeIs('rack-1', { state: 'available', server_id: null })
  expect(machine.disk).toBeNull()

  const maintained = await weir.json('node maintenance rack-1 --reason fan')
  expect(maintained).toMatchObject({ maintenance: 'fan', state: 'available' })
  expect(await weir.run('node inspect rack-1')).toMatchObject({ code: 1 })
  await expect.poll(hasRoom).toBe(0)
  expect(await weir.json('node maintenance rack-1 --off')).toMatchObject({ maintenance: null })
  expect(await weir.json('node inspect rack-1')).toMatchObject({ name: 'rack-1' })
  await nodeIs('rack-1', { state: 'available' })

  for (const name of ['rack-1', 'rack-2'])
    expect(await weir.run(`node remove ${name}`)).toMatchObject({ code: 0 })
  expect(await weir.json('node list')).toEqual([])
  expect(await weir.run('node show rack-1')).toMatchObject({ code: 3 })
  expect(await weir.run('node maintenance rack-1')).toMatchObject({ code: 2 })
})
