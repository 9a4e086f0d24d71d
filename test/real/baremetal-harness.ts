import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type CellId, type HostId, newId } from '#common/ids.ts'
import { waitFor } from '#common/wait-for.ts'
import { EMULATED_KERNEL } from '#deploy/machine/machine-files.ts'
import { homeDirectory } from '#deploy/paths.ts'
import { freePort } from '#deploy/process/free-port.ts'
import { buildRamdisk } from '#deploy/ramdisk/build-ramdisk.ts'
import { createBaremetalDriver } from '#drivers/baremetal/driver.ts'
import { type NodeRecord, writeNodeRecord } from '#drivers/baremetal/nodes/node-record.ts'
import { type BaremetalSettings, baremetalSettings } from '#drivers/baremetal/settings.ts'
import type { Driver, DriverEnvironment, ImageSpec } from '#drivers/driver.ts'
import type { NewNode } from '#drivers/nodes.ts'
import { qcow2Header } from '#drivers/testing/qcow2-header.ts'
import { TestImages } from '#drivers/testing/test-images.ts'
import type { DriverHarness } from '../contract/drivers.contract.ts'
import { echoDisk } from './machine/echo-disk.ts'
import { type SimulatedMachine, startMachine } from './machine/simulated-machine.ts'

/** Images that a host must refuse, by their defect. */
export const REFUSED_IMAGES = [
  'is not what its checksum says',
  'is of a format no machine boots',
  'is declared raw and is not',
  'has damaged data',
] as const

export const RESOURCE_CLASS = 'CUSTOM_TEST'

export interface BaremetalHarness extends DriverHarness {
  readonly machines: readonly SimulatedMachine[]
  readonly images: TestImages
  readonly stateDirectory: string
  /** As they are enrolled. */
  readonly nodes: readonly NewNode[]
  /** As `open`, over machines that do not answer. */
  openSilent(): Promise<Driver>
  /** The record of the machine at this index. */
  record(index: number): Promise<NodeRecord>
  /** Changes the record of the machine at this index; no driver may be open. */
  change(index: number, change: Partial<NodeRecord>): Promise<void>
}

/** Sparse, so that a gigabyte costs nothing; what an emulated machine writes zeros over is not. */
const QUICK_DISK_MB = 1024
const EMULATED_DISK_MB = 16
const NODES = 2
/** Software emulation on a busy machine. */
const PROVIDE_MS = 200_000
const SECRET_KEY = '5a'.repeat(32)

/** Two machines behind BMCs, and drivers over them. `quick`: with programs in place of emulated machines. */
export async function startBaremetalHarness(
  quick: boolean,
  { diskMb = quick ? QUICK_DISK_MB : EMULATED_DISK_MB, count = NODES } = {},
): Promise<BaremetalHarness> {
  const directory = await mkdtemp(join(tmpdir(), 'weir-metal-'))
  const stateDirectory = join(directory, 'state')
  const port = await freePort()
  // QEMU's own network: machines there reach this one as 10.0.2.2.
  const bootUrl = `http://${quick ? '127.0.0.1' : '10.0.2.2'}:${port}`
  const machines = await Promise.all(
    Array.from({ length: count }, (_, index) =>
      startMachine({ diskMb, ...machineOptions(index, bootUrl, quick) }),
    ),
  )
  const nodes = machines.map((machine, index) => newNode(machine, index))
  const ramdisk = quick ? undefined : await buildRamdisk(join(homeDirectory, 'images'))
  const settings = baremetalSettings({
    boot_url: bootUrl,
    boot_address: '127.0.0.1',
    ramdisk_kernel: ramdisk?.kernelPath ?? '/dev/null',
    ramdisk_initrd: ramdisk?.initrdPath ?? '/dev/null',
    kernel_append_params: EMULATED_KERNEL,
    secret_key: SECRET_KEY,
    bmc_seconds: quick ? '1' : '60',
    hostname: 'metal',
  })
  const images = new TestImages()
  const endless = images.addEndless()
  const owner = { cellId: newId<CellId>(), hostId: newId<HostId>() }
  const record = (index: number) => readRecord(stateDirectory, index)
  return {
    machines,
    images,
    stateDirectory,
    record,
    change: async (index, change) =>
      writeNodeRecord(recordPath(stateDirectory, index), { ...(await record(index)), ...change }),
    nodes,
    openSilent: () => createBaremetalDriver({ owner, stateDirectory, images: images }, settings),
    open: () => openProvided({ owner, stateDirectory, images: images }, settings, nodes),
    cutOff: async (id) => {
      for (const [index, machine] of machines.entries())
        if ((await record(index)).instance === id) await machine.ipmitool('power', 'off')
    },
    image: images.add(echoDisk()),
    extraSpecs: { [`resources:${RESOURCE_CLASS}`]: '1' },
    consoles: ['serial'],
    hanging: (spec) => ({ ...spec, image: endless }),
    refused: refusedImages(images),
    shelve: (content, diskFormat) => images.add(content, { diskFormat }),
    leftovers: async (id) => {
      const names = (await filesBelow(stateDirectory)).filter(
        (name) => name.includes(id) || name.includes('part'),
      )
      for (const index of machines.keys()) {
        const { state, instance } = await record(index)
        if (instance === id) names.push(`node ${index} of it, ${state}`)
        if (state === 'available' && !(await isEmpty(machines[index]!)))
          names.push(`data on node ${index}`)
      }
      return names
    },
    async [Symbol.asyncDispose]() {
      for (const machine of machines) await machine[Symbol.asyncDispose]()
      await rm(directory, { recursive: true, force: true })
    },
  }
}

async function openProvided(
  environment: DriverEnvironment,
  settings: BaremetalSettings,
  nodes: readonly NewNode[],
): Promise<Driver> {
  const driver = await createBaremetalDriver(environment, settings)
  const provided = async () => {
    const { machines = [] } = await driver.inventory(AbortSignal.timeout(PROVIDE_MS))
    return machines[0]?.total === nodes.length
  }
  try {
    for (const node of nodes) await driver.nodes!.add(node, AbortSignal.timeout(PROVIDE_MS))
    await waitFor('the machines to be inspected and clean', provided, PROVIDE_MS)
  } catch (error) {
    await driver[Symbol.asyncDispose]()
    throw error
  }
  return driver
}

function machineOptions(index: number, bootUrl: string, quick: boolean) {
  const macAddress = macOf(index)
  if (quick) return { quick: { bootUrl, macAddress } }
  const bootfile = `${bootUrl}/boot.ipxe?mac=\${net0/mac}`
  const nic = `user,model=virtio-net-pci,mac=${macAddress},bootfile=${bootfile}`
  return { qemu: ['-nic', nic] }
}

function newNode({ bmc }: SimulatedMachine, index: number): NewNode {
  const macAddress = macOf(index)
  return { name: `node-${index}`, resourceClass: RESOURCE_CLASS, macAddress, usesEfi: false, bmc }
}

function macOf(index: number): string {
  return `52:54:00:12:34:0${index}`
}

function recordPath(stateDirectory: string, index: number): string {
  return join(stateDirectory, 'nodes', `node-${index}.json`)
}

async function readRecord(stateDirectory: string, index: number): Promise<NodeRecord> {
  const text = await readFile(recordPath(stateDirectory, index), 'utf8')
  return JSON.parse(text) as NodeRecord
}

async function isEmpty({ directory }: SimulatedMachine): Promise<boolean> {
  const path = join(directory, 'disk.img')
  if ((await stat(path)).blocks === 0) return true
  return (await readFile(path)).every((byte) => byte === 0)
}

async function filesBelow(folder: string): Promise<string[]> {
  return readdir(folder, { recursive: true })
}

function refusedImages(images: TestImages): Record<(typeof REFUSED_IMAGES)[number], ImageSpec> {
  return {
    'is not what its checksum says': images.add(echoDisk(), { sha256: 'a'.repeat(64) }),
    'is of a format no machine boots': images.add(echoDisk(), { diskFormat: 'vhd' }),
    'is declared raw and is not': images.add(qcow2Header({ virtualSize: 512n })),
    'has damaged data': images.add(qcow2Header({ virtualSize: 512n }), { diskFormat: 'qcow2' }),
  }
}
