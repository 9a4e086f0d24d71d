import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Type } from 'typebox'
import { describe, test } from 'vitest'
import { isFailure } from '#common/errors.ts'
import { type CellId, type HostId, newId } from '#common/ids.ts'
import type { Owner } from '#drivers/driver.ts'
import { Cloud } from '#drivers/nested/cloud/cloud.ts'
import { createNestedDriver } from '#drivers/nested/driver.ts'
import { nestedSettings } from '#drivers/nested/settings.ts'
import { TestImages } from '#drivers/testing/test-images.ts'
import { driverVolumesContract } from '../contract/driver-volumes.contract.ts'
import type { VolumesHarness } from '../contract/volumes-world.ts'
import { isFullRun } from '../env/full-run.ts'
import { openstackAccount } from './openstack-account.ts'

const GIB = 1024 ** 3
const WORK_MS = 60_000
/** Those that the contract asks for, beside what an OpenStack has anyway. */
const FLAVORS = [
  { name: 'weir-128-1', vcpus: 1, ram: 128, disk: 1 },
  { name: 'weir-128-0', vcpus: 1, ram: 128, disk: 0 },
  { name: 'weir-128-2-1', vcpus: 1, ram: 128, disk: 2, 'OS-FLV-EXT-DATA:ephemeral': 1 },
]
const Lists = Type.Record(Type.String(), Type.Unknown())
const Hypervisors = Type.Object({
  hypervisors: Type.Array(Type.Object({ hypervisor_type: Type.String() })),
})

const account = isFullRun ? openstackAccount() : undefined
const admin = isFullRun ? openstackAccount('WEIR_TEST_OPENSTACK_ADMIN') : undefined
const signal = () => AbortSignal.timeout(WORK_MS)

/** Why the tests do not run here; undefined: they do. */
async function whyNot(): Promise<string | undefined> {
  if (account === undefined || admin === undefined)
    return 'WEIR_TEST_OPENSTACK and WEIR_TEST_OPENSTACK_ADMIN name no OpenStack'
  await using cloud = new Cloud(nestedSettings(account), newId())
  const { endpoints } = await cloud.access(signal())
  return endpoints.volume === undefined ? 'the OpenStack has no Block Storage' : undefined
}

/**
 * Afterwards the OpenStack has the flavors of the contract, which stay for later runs. True if its guests are real: Nova's fake
 * driver rescues none that starts from a volume.
 */
async function prepare(): Promise<boolean> {
  await using cloud = new Cloud(nestedSettings(admin!), newId())
  for (const flavor of FLAVORS)
    await cloud
      .call('compute', 'POST', '/flavors', { body: { flavor }, signal: signal() })
      .catch((error: unknown) => {
        if (!isFailure(error, 'conflict')) throw error
      })
  const path = '/os-hypervisors/detail'
  const { body } = await cloud.ask(Hypervisors, 'compute', 'GET', path, { signal: signal() })
  return body.hypervisors.some(({ hypervisor_type }) => hypervisor_type !== 'fake')
}

/** Hosts over a project of a real OpenStack, as its ordinary user, with volumes of its default type. */
async function startCinder(): Promise<VolumesHarness> {
  const hasRealGuests = await prepare()
  const directory = await mkdtemp(join(tmpdir(), 'weir-cinder-'))
  const images = new TestImages()
  const settings = nestedSettings({
    ...account!,
    ...{ poll_ms: '200', hypervisor_type: 'fake' },
  })
  const owner = { cellId: newId<CellId>(), hostId: newId<HostId>() }
  const cloud = new Cloud(settings, owner.cellId)
  const open = (as: Owner) =>
    createNestedDriver({ owner: as, stateDirectory: join(directory, as.hostId), images }, settings)
  const namesOf = async (service: 'volume' | 'image', path: string) => {
    const { body } = await cloud.ask(Lists, service, 'GET', path, { signal: signal() })
    const items = Object.values(body).filter(Array.isArray).flat() as { readonly name: unknown }[]
    return items.map(({ name }) => String(name))
  }
  return {
    open: () => open(owner),
    openNeighbour: () => open({ cellId: owner.cellId, hostId: newId<HostId>() }),
    openOtherCell: () => open({ cellId: newId<CellId>(), hostId: newId<HostId>() }),
    image: images.add(Buffer.from('what a guest boots from'), { diskFormat: 'raw' }),
    hanging: (spec) => spec,
    refused: {},
    shelve: (content, diskFormat) => images.add(content, { diskFormat }),
    leftovers: async (id) => {
      const { body } = await cloud.ask(Lists, 'compute', 'GET', '/servers/detail', {
        signal: signal(),
      })
      return JSON.stringify(body).includes(id) ? [`a server of ${id}`] : []
    },
    unitBytes: GIB,
    storeName: 'default',
    revertsExtended: false,
    ...(hasRealGuests ? {} : { rescuesRoots: false }),
    leaveHalf: async ({ store, id }) => {
      const metadata = { weir_cell: owner.cellId, weir_store: store, weir_id: id }
      const volume = { name: `weir-${id}`, size: 1, metadata }
      await cloud.call('volume', 'POST', '/volumes', { body: { volume }, signal: signal() })
    },
    volumeLeftovers: async (id) => {
      const lists = [
        await namesOf('volume', '/volumes'),
        await namesOf('volume', '/snapshots'),
        await namesOf('image', '/images'),
      ]
      return lists.flat().filter((name) => name.includes(id))
    },
    guestsRelease: true,
    async [Symbol.asyncDispose]() {
      await cloud[Symbol.asyncDispose]()
      await rm(directory, { recursive: true, force: true })
    },
  }
}

const reason = await whyNot()
if (reason === undefined) driverVolumesContract('nested', startCinder)
else describe.skip(`a real Cinder (skipped: ${reason})`, () => test('keeps the contract'))
