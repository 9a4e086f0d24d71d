import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type CellId, type HostId, newId } from '#common/ids.ts'
import { type RunningLibvirtHost, startLibvirtHost } from '#deploy/libvirt-host/libvirt-host.ts'
import type { Driver, ImageSpec, Owner } from '#drivers/driver.ts'
import { createLibvirtDriver, type LibvirtSettings } from '#drivers/libvirt/driver.ts'
import { qcow2Header } from '#drivers/testing/qcow2-header.ts'
import { TestImages } from '#drivers/testing/test-images.ts'
import type { DriverHarness } from '../contract/drivers.contract.ts'

const MIB = 1024 ** 2
const GIB = 1024n ** 3n
const COMMAND_MS = 20_000

/** Images that a host must refuse, by their defect. */
export const REFUSED_IMAGES = [
  'is not what its checksum says',
  'is longer than it says',
  'is qcow2 and declared raw',
  'is raw and declared qcow2',
  'refers to a backing file',
  'refers to a data file',
  'is larger than the flavor has disk',
  'is of a format no guest boots from',
] as const

export interface LibvirtHarness extends DriverHarness {
  readonly host: RunningLibvirtHost
  readonly images: TestImages
  readonly owner: Owner
  /** The folder of the host and of its drivers' state. */
  readonly directory: string
  /** Where the host's Open vSwitch has its files, if it has one. */
  readonly openvswitch: string
  openAs(owner: Owner, settings?: Partial<LibvirtSettings>, state?: string): Promise<Driver>
  /** virsh on the host, for looking at it from outside the driver. */
  virsh(...args: string[]): Promise<string>
}

/**
 * A private libvirt host, and drivers over it. Its images boot nothing, which is the fastest guest there is. `network`: how
 * its guests are connected; for `ovn` the caller starts the host's Open vSwitch.
 */
export async function startLibvirtHarness(
  name: string,
  network: 'host' | 'ovn' = 'host',
): Promise<LibvirtHarness> {
  const directory = await mkdtemp(join(tmpdir(), 'weir-lv-'))
  const stateOf = ({ cellId }: Owner) => join(directory, `state-${cellId}`)
  const openvswitch = join(directory, 'ovs')
  const isOvn = network === 'ovn'
  const ofHost = { directory: join(directory, 'host'), name, ...(isOvn && { openvswitch }) }
  const host = await startLibvirtHost(ofHost)
  const connected = isOvn ? ({ network, ovsDatapath: 'netdev' } as const) : {}
  const images = new TestImages()
  const owner = { cellId: newId<CellId>(), hostId: newId<HostId>() }
  const stateDirectory = stateOf(owner)
  const endless = images.addEndless()
  const openAs = (as: Owner, settings: Partial<LibvirtSettings> = {}, state = stateOf(as)) =>
    createLibvirtDriver(
      { owner: as, stateDirectory: state, images: images },
      {
        uri: host.uri,
        virtType: 'qemu',
        vcpus: 2,
        memoryMb: 1024,
        diskGb: 20,
        ...connected,
        ...settings,
      },
    )
  const virsh = async (...args: string[]) =>
    (await host.run('virsh', ['-q', ...args], { timeoutMs: COMMAND_MS })).stdout
  return {
    host,
    images,
    owner,
    directory,
    openvswitch,
    openAs,
    virsh,
    open: () => openAs(owner),
    openOther: () => openAs({ cellId: newId<CellId>(), hostId: newId<HostId>() }),
    cutOff: (id) => virsh('destroy', `weir-${id}`),
    image: images.add(Buffer.alloc(MIB)),
    hanging: (spec) => ({ ...spec, image: endless }),
    refused: refusedImages(images),
    shelve: (content, diskFormat) => images.add(content, { diskFormat }),
    leftovers: async (id) => {
      const domains = (await virsh('list', '--all', '--name')).split('\n')
      const folders = await readdir(join(stateDirectory, 'instances')).catch(() => [])
      const images = await readdir(join(stateDirectory, 'images')).catch(() => [])
      const networks = (await virsh('net-list', '--all', '--name')).split('\n')
      const filters = (await virsh('nwfilter-list')).split('\n')
      return [
        ...domains.filter((domain) => domain.includes(id)),
        ...folders.filter((folder) => folder.includes(id)),
        ...images.filter((image) => image.includes('part')),
        ...networks.filter((network) => network !== ''),
        ...filters.filter((filter) => filter.includes('weir-port-')),
      ]
    },
    async [Symbol.asyncDispose]() {
      await host.stop()
      await rm(directory, { recursive: true, force: true })
    },
  }
}

function refusedImages(images: TestImages): Record<(typeof REFUSED_IMAGES)[number], ImageSpec> {
  const qcow2 = { diskFormat: 'qcow2' }
  const small = qcow2Header({ virtualSize: GIB })
  return {
    'is not what its checksum says': images.add(Buffer.alloc(512), { sha256: 'a'.repeat(64) }),
    'is longer than it says': images.add(Buffer.alloc(1024, 1), { sizeBytes: 512 }),
    'is qcow2 and declared raw': images.add(small),
    'is raw and declared qcow2': images.add(Buffer.alloc(512, 2), qcow2),
    'refers to a backing file': images.add(
      qcow2Header({ virtualSize: GIB, backingOffset: 200n }),
      qcow2,
    ),
    'refers to a data file': images.add(qcow2Header({ virtualSize: GIB, incompatible: 4n }), qcow2),
    'is larger than the flavor has disk': images.add(qcow2Header({ virtualSize: 2n * GIB }), qcow2),
    'is of a format no guest boots from': images.add(Buffer.from('KDMV'), { diskFormat: 'vmdk' }),
  }
}
