import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { request } from 'undici'
import { type CellId, type HostId, type InstanceId, newId } from '#common/ids.ts'
import { waitFor } from '#common/wait-for.ts'
import { findProgram } from '#deploy/process/find-program.ts'
import { freePort } from '#deploy/process/free-port.ts'
import { createIronicDriver } from '#drivers/ironic/driver.ts'
import { ironicSettings } from '#drivers/ironic/settings.ts'
import { run } from '#drivers/run.ts'
import { qcow2Header } from '#drivers/testing/qcow2-header.ts'
import { TestImages } from '#drivers/testing/test-images.ts'
import type { DriverHarness } from '../contract/drivers.contract.ts'
import { serveFolder } from './machine/serve-folder.ts'
import type { SimulatedMachine } from './machine/simulated-machine.ts'

/** Images that a host must refuse, by their defect. */
export const REFUSED_BY_IRONIC = ['is not what its checksum says', 'is declared raw and is not']

export interface IronicNodeState {
  readonly uuid: string
  readonly provision_state: string
  readonly power_state: string | null
  readonly instance_uuid: string | null
  readonly extra: Readonly<Record<string, unknown>>
  readonly instance_info: Readonly<Record<string, unknown>>
}

/** A real ironic, and drivers over it. */
export interface IronicHarness extends DriverHarness {
  /** What ironic itself says. */
  nodes(): Promise<readonly IronicNodeState[]>
  /** Afterwards ironic has one more node, whose BMC is the machine's. */
  enrol(machine: SimulatedMachine): Promise<string>
  /**
   * Afterwards ironic has one more node, of its hardware type `ipmi`, which it takes to be deployed already for this
   * server of the drivers' host: it has no ramdisk here that could deploy one.
   */
  adopt(machine: SimulatedMachine, id: InstanceId): Promise<string>
  /** As machines of QEMU's reach what ironic has them boot. */
  readonly bootUrl: string
  /** Afterwards ironic has one more node, of its hardware type `ipmi`, which it deploys in this way. */
  offer(machine: SimulatedMachine, macAddress: string, by: 'ramdisk' | 'direct'): Promise<string>
  /** As somebody else would switch a node. */
  power(uuid: string, target: 'power on' | 'power off'): Promise<void>
  /** Kills ironic, or starts it again. */
  kill(): Promise<void>
  start(): Promise<void>
}

const NODES = 2
const START_MS = 120_000
const READY_MS = 180_000
const CLASS = 'weir-test'

/** Debian's ironic, all in one process, with machines that it pretends to have. */
export async function startIronicHarness(): Promise<IronicHarness> {
  const directory = await mkdtemp(join(tmpdir(), 'weir-ironic-'))
  const url = `http://127.0.0.1:${await freePort()}`
  const config = join(directory, 'ironic.conf')
  const boots = join(directory, 'http')
  for (const folder of [boots, join(directory, 'tftp')]) await mkdir(folder)
  await writeFile(join(boots, 'agent'), Buffer.alloc(512))
  const bootPort = await freePort()
  // QEMU's own network: machines there reach this one as 10.0.2.2.
  const bootUrl = `http://10.0.2.2:${bootPort}`
  const served = await serveFolder(boots, bootPort)
  await writeFile(config, configOf(directory, url, bootUrl))
  const options = { timeoutMs: START_MS }
  await run(findProgram('ironic-dbsync'), ['--config-file', config, 'create_schema'], options)
  let process = startIronic(config)
  const call = caller(url)
  const isUp = () => call<object>('GET', '/').catch(() => undefined)
  await waitFor('ironic', isUp, START_MS)
  for (let nth = 0; nth < NODES; nth += 1) await addNode(call, fakeNode(nth))
  const images = new TestImages()
  const image = images.add(Buffer.alloc(512, 'x'))
  const imageUrl = `http://127.0.0.1:${await freePort()}`
  const settings = () => ironicSettings({ url, image_url: imageUrl, hostname: 'irons' })
  const owner = { cellId: newId<CellId>(), hostId: newId<HostId>() }
  const stateDirectory = join(directory, 'state')
  const nodes = async () =>
    (await call<{ nodes: readonly IronicNodeState[] }>('GET', '/nodes/detail')).nodes
  const kill = async () => {
    const ended = once(process, 'exit')
    if (process.kill('SIGKILL')) await ended
  }
  return {
    nodes,
    kill,
    start: async () => {
      process = startIronic(config)
      await waitFor('ironic', isUp, START_MS)
    },
    bootUrl: `${bootUrl}/boot.ipxe`,
    offer: (machine, macAddress, by) => {
      const agent = `http://127.0.0.1:${bootPort}/agent`
      return addNode(call, deployedBy(machine, { macAddress, by, agent }))
    },
    power: (uuid, target) => call('PUT', `/nodes/${uuid}/states/power`, { target }),
    enrol: async (machine) => addNode(call, ipmiNode(machine)),
    adopt: async (machine, instance) => {
      const weir = { cell: owner.cellId, host: owner.hostId, instance }
      const node = { ...typedNode(machine), instance_uuid: instance, extra: { weir } }
      return addNode(call, node, [
        ['manage', 'manageable'],
        ['adopt', 'active'],
      ])
    },
    open: () => createIronicDriver({ owner, stateDirectory, images: images }, settings()),
    image,
    extraSpecs: { 'resources:CUSTOM_WEIR_TEST': '1' },
    hanging: (spec) => ({ ...spec, image: images.addEndless() }),
    refused: {
      'is not what its checksum says': images.add(Buffer.from('x'), { sha256: 'a'.repeat(64) }),
      'is declared raw and is not': images.add(qcow2Header({ virtualSize: 512n })),
    },
    shelve: (content, diskFormat) => images.add(content, { diskFormat }),
    leftovers: async (id) =>
      (await nodes())
        .filter((node) =>
          JSON.stringify([node.extra, node.instance_info, node.instance_uuid]).includes(id),
        )
        .map(({ uuid, provision_state }) => `node ${uuid}, ${provision_state}`),
    async [Symbol.asyncDispose]() {
      await kill()
      await served[Symbol.asyncDispose]()
      await rm(directory, { recursive: true, force: true })
    },
  }
}

type Call = <Answer>(
  method: 'GET' | 'POST' | 'PUT' | 'PATCH',
  path: string,
  body?: object,
) => Promise<Answer>

function caller(url: string): Call {
  return async <Answer>(method: string, path: string, body?: object) => {
    const headers = { 'x-openstack-ironic-api-version': '1.56', 'content-type': 'application/json' }
    const answer = await request(`${url}/v1${path}`, {
      method: method as 'GET',
      headers,
      body: body === undefined ? null : JSON.stringify(body),
    })
    const text = await answer.body.text()
    if (answer.statusCode >= 300) throw new Error(`${path} answered ${answer.statusCode}: ${text}`)
    return (text === '' ? undefined : JSON.parse(text)) as Answer
  }
}

function startIronic(config: string): ChildProcess {
  return spawn(findProgram('ironic'), ['--config-file', config], { stdio: 'ignore' })
}

/** Targets, and the states that they lead to. */
const PROVIDED = [
  ['manage', 'manageable'],
  ['provide', 'available'],
] as const

interface NewIronicNode {
  readonly [field: string]: unknown
  readonly instance_uuid?: string
  /** Of its NICs; absent: it has none. */
  readonly macAddresses?: readonly string[]
}

async function addNode(
  call: Call,
  { instance_uuid, macAddresses = [], ...node }: NewIronicNode,
  steps: readonly (readonly [target: string, wanted: string])[] = PROVIDED,
): Promise<string> {
  const { uuid } = await call<{ uuid: string }>('POST', '/nodes', node)
  for (const address of macAddresses) await call('POST', '/ports', { node_uuid: uuid, address })
  if (instance_uuid !== undefined)
    await call('PATCH', `/nodes/${uuid}`, [
      { op: 'add', path: '/instance_uuid', value: instance_uuid },
    ])
  const provision = async (target: string, wanted: string) => {
    await call('PUT', `/nodes/${uuid}/states/provision`, { target })
    const isThere = async () => {
      const now = await call<IronicNodeState & { reservation: string | null }>(
        'GET',
        `/nodes/${uuid}`,
      )
      return now.provision_state === wanted && now.reservation === null
    }
    await waitFor(`node to be ${wanted}`, isThere, READY_MS)
  }
  for (const [target, wanted] of steps) await provision(target, wanted)
  return uuid
}

const PROPERTIES = { cpus: 4, memory_mb: 8192, local_gb: 100, cpu_arch: 'x86_64' }

function fakeNode(nth: number): NewIronicNode {
  return {
    name: `fake-${nth}`,
    driver: 'fake-hardware',
    resource_class: CLASS,
    properties: PROPERTIES,
    macAddresses: [`52:54:00:00:0${nth}:01`, `52:54:00:00:0${nth}:02`],
  }
}

/** Ironic has no ramdisk here that the machine could boot, so it deploys nothing; it does switch the machine. */
function ipmiNode(machine: SimulatedMachine): NewIronicNode {
  return {
    name: 'behind-ipmi',
    driver: 'fake-hardware',
    power_interface: 'ipmitool',
    management_interface: 'ipmitool',
    resource_class: 'ipmi',
    properties: PROPERTIES,
    driver_info: bmcInfo(machine),
  }
}

/** Of a hardware type without any pretence. */
function typedNode(machine: SimulatedMachine): NewIronicNode {
  const image = { image_source: 'http://images.invalid/image', image_checksum: 'a'.repeat(32) }
  return {
    name: 'of-type-ipmi',
    driver: 'ipmi',
    boot_interface: 'pxe',
    deploy_interface: 'direct',
    inspect_interface: 'no-inspect',
    storage_interface: 'noop',
    resource_class: 'ipmi',
    automated_clean: false,
    properties: { ...PROPERTIES, capabilities: 'boot_option:local' },
    instance_info: { ...image, image_type: 'whole-disk-image', root_gb: '1' },
    driver_info: bmcInfo(machine),
  }
}

/** What calls back once it has written a disk is none of Debian's: in its place is what says nothing. */
function deployedBy(
  machine: SimulatedMachine,
  {
    macAddress,
    by,
    agent,
  }: { readonly macAddress: string; readonly by: string; readonly agent: string },
): NewIronicNode {
  return {
    name: `by-${by}`,
    driver: 'ipmi',
    boot_interface: 'ipxe',
    deploy_interface: by,
    inspect_interface: 'no-inspect',
    storage_interface: 'noop',
    resource_class: by,
    automated_clean: false,
    properties: PROPERTIES,
    driver_info: { ...bmcInfo(machine), deploy_kernel: agent, deploy_ramdisk: agent },
    macAddresses: [macAddress],
  }
}

function bmcInfo({ bmc }: SimulatedMachine): object {
  return {
    ipmi_address: bmc.address,
    ipmi_port: bmc.port,
    ipmi_username: bmc.user,
    ipmi_password: bmc.password,
    ipmi_cipher_suite: '3',
  }
}

function configOf(directory: string, url: string, bootUrl: string): string {
  const { port } = new URL(url)
  return `[DEFAULT]
auth_strategy = noauth
rpc_transport = none
host = metal
my_ip = 127.0.0.1
state_path = ${directory}
enabled_hardware_types = fake-hardware,ipmi
enabled_boot_interfaces = fake,ipxe,pxe
enabled_deploy_interfaces = fake,direct,ramdisk
enabled_inspect_interfaces = fake,no-inspect
enabled_management_interfaces = fake,ipmitool
enabled_network_interfaces = noop
enabled_power_interfaces = fake,ipmitool
[api]
host_ip = 127.0.0.1
port = ${port}
api_workers = 1
[conductor]
automated_clean = true
deploy_callback_timeout = 40
check_provision_state_interval = 5
[service_catalog]
endpoint_override = ${url}
[deploy]
http_url = ${bootUrl}
http_root = ${directory}/http
[pxe]
tftp_root = ${directory}/tftp
tftp_master_path = ${directory}/masters
images_path = ${directory}/images
instance_master_path = ${directory}/instances
[dhcp]
dhcp_provider = none
[database]
connection = sqlite:///${directory}/ironic.sqlite
[oslo_concurrency]
lock_path = ${directory}
`
}
