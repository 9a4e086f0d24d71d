import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type CellId, type HostId, newId } from '#common/ids.ts'
import type { Driver, ImageSpec, Owner } from '#drivers/driver.ts'
import { createNestedDriver } from '#drivers/nested/driver.ts'
import { nestedSettings } from '#drivers/nested/settings.ts'
import { TestImages } from '#drivers/testing/test-images.ts'
import { type Cloud, startCloud } from '../env/cloud.ts'
import { nestedSettingsFor } from '../env/nested-settings.ts'
import type { DriverHarness } from './drivers.contract.ts'

const HANGS = 'hangs'
const HANG = { method: 'spawn', instance: HANGS, effect: { do: 'hang' } }
const CONTENT = Buffer.from('what a guest boots from')
const FAKE = { properties: { hypervisor_type: 'fake' } }

export const REFUSED_IMAGES = [
  'is not what its checksum says',
  'is longer than it should be',
  'is shorter than it should be',
] as const

export interface NestedHarness extends DriverHarness {
  readonly child: Cloud
  readonly owner: Owner
  readonly images: TestImages
  /** The settings of a driver for the demo user of the nested cloud. */
  readonly settings: Readonly<Record<string, string>>
  /** The host loses what it has written down. No driver may be open. */
  forget(): Promise<void>
  openAs(owner: Owner, settings?: Readonly<Record<string, string>>): Promise<Driver>
}

/** A whole cloud on a simulated host, and drivers over its demo project. */
export async function startNestedHarness(): Promise<NestedHarness> {
  const child = await startCloud({
    gateways: 1,
    cells: 1,
    processesPerCell: 1,
    hostsPerCell: 1,
    driver: { faults: JSON.stringify([HANG]) },
  })
  await addFlavors(child)
  const directory = await mkdtemp(join(tmpdir(), 'weir-nested-'))
  const images = new TestImages()
  const owner = { cellId: newId<CellId>(), hostId: newId<HostId>() }
  const settings = nestedSettingsFor(child)
  const openAs = (as: Owner, more: Readonly<Record<string, string>> = {}) =>
    createNestedDriver(
      { owner: as, stateDirectory: join(directory, as.hostId), images: images },
      nestedSettings({ ...settings, ...more }),
    )
  return {
    child,
    owner,
    images,
    settings,
    forget: () => rm(join(directory, owner.hostId), { recursive: true, force: true }),
    openAs,
    open: () => openAs(owner),
    openOther: () => openAs({ cellId: newId<CellId>(), hostId: newId<HostId>() }),
    cutOff: (id) => stopBelow(child, id),
    image: images.add(CONTENT, FAKE),
    hanging: (spec) => ({ ...spec, displayName: HANGS }),
    refused: refusedImages(images),
    shelve: (content, diskFormat) => images.add(content, { ...FAKE, diskFormat }),
    showsFigures: false,
    leftovers: async (id) => [
      ...(await leftBelow(child, id)),
      ...(await readdir(join(directory, owner.hostId, 'instances'))).filter((name) =>
        name.includes(id),
      ),
    ],
    async [Symbol.asyncDispose]() {
      await child[Symbol.asyncDispose]()
      await rm(directory, { recursive: true, force: true })
    },
  }
}

async function addFlavors(child: Cloud): Promise<void> {
  const flavors = [
    { name: 'other', vcpus: 2, ram: 192, disk: 2 },
    { name: 'gb-2', vcpus: 1, ram: 128, disk: 2 },
    { name: 'gb-3', vcpus: 1, ram: 128, disk: 3 },
    { name: 'gb-0', vcpus: 1, ram: 128, disk: 0 },
    { name: 'gb-2-1', vcpus: 1, ram: 128, disk: 2, 'OS-FLV-EXT-DATA:ephemeral': 1 },
  ]
  for (const flavor of flavors) await child.as('admin').post('/compute/v2.1/flavors', { flavor })
}

function refusedImages(images: TestImages): Record<(typeof REFUSED_IMAGES)[number], ImageSpec> {
  return {
    'is not what its checksum says': images.add(CONTENT, { ...FAKE, sha256: 'a'.repeat(64) }),
    'is longer than it should be': images.add(CONTENT, { ...FAKE, sizeBytes: 3 }),
    'is shorter than it should be': images.add(CONTENT, { ...FAKE, sizeBytes: 300 }),
  }
}

interface Below {
  readonly servers: readonly {
    readonly id: string
    readonly metadata: Readonly<Record<string, string>>
  }[]
  readonly ports: readonly { readonly name: string }[]
  readonly networks: readonly { readonly name: string }[]
  readonly images: readonly { readonly name: string; readonly status: string }[]
  readonly keypairs: readonly { readonly keypair: { readonly name: string } }[]
}

/** Like another user of the child cloud. */
async function stopBelow(child: Cloud, id: string): Promise<void> {
  const demo = child.as('demo')
  const { servers } = (await demo.get<Below>('/compute/v2.1/servers/detail')).body
  const marked = servers.find(({ metadata }) => Object.values(metadata).some((v) => v.includes(id)))
  await demo.post(`/compute/v2.1/servers/${marked!.id}/action`, { 'os-stop': null })
}

/** The objects of an instance, and those that belong to no instance any more. */
async function leftBelow(child: Cloud, id: string): Promise<readonly string[]> {
  const demo = child.as('demo')
  const get = async (path: string) => (await demo.get<Below>(path)).body
  const { servers } = await get('/compute/v2.1/servers/detail')
  const { ports } = await get('/networking/v2.0/ports')
  const { networks } = await get('/networking/v2.0/networks')
  const { keypairs } = await get('/compute/v2.1/os-keypairs')
  const { images } = await get('/image/v2/images')
  const named = [...ports, ...networks, ...keypairs.map(({ keypair }) => keypair)]
  return [
    ...servers.flatMap(({ metadata }) => Object.values(metadata)).filter((v) => v.includes(id)),
    ...(servers.length > 0
      ? []
      : named.map(({ name }) => name).filter((n) => n.startsWith('weir-'))),
    ...images.filter(({ status }) => status !== 'active').map(({ name }) => name),
    ...images.map(({ name }) => name).filter((name) => name.startsWith('weir-')),
  ]
}
