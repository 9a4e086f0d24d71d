import { type CellId, type HostId, newId } from '#common/ids.ts'
import { storesReported } from '../env/stores-reported.ts'
import { driverVolumesContract } from './driver-volumes.contract.ts'
import { type NestedHarness, startNestedHarness } from './nested-harness.ts'
import type { VolumesHarness } from './volumes-world.ts'

const GIB = 1024 ** 3
const VOLUME = '/volume/v3'

interface Named {
  readonly name: string
}

/** A host over a project of a Weir with simulated volumes, all of one type, which several servers may share. */
async function startNestedVolumes(): Promise<VolumesHarness> {
  const harness = await startNestedHarness()
  const { child, owner } = harness
  const as = (cellId: CellId) => harness.openAs({ cellId, hostId: newId<HostId>() })
  await shareVolumes(harness)
  await storesReported(child)
  return {
    ...harness,
    openNeighbour: () => as(owner.cellId),
    openOtherCell: () => as(newId<CellId>()),
    unitBytes: GIB,
    leaveHalf: async ({ store, id }) => {
      const metadata = { weir_cell: owner.cellId, weir_store: store, weir_id: id }
      const volume = { name: `weir-${id}`, size: 1, metadata }
      await child.as('demo').post(`${VOLUME}/volumes`, { volume })
    },
    volumeLeftovers: async (id) => (await namesBelow(harness)).filter((name) => name.includes(id)),
    guestsRelease: true,
    [Symbol.asyncDispose]: () => harness[Symbol.asyncDispose](),
  }
}

async function shareVolumes({ child }: NestedHarness): Promise<void> {
  const volume_type = { name: '__DEFAULT__', extra_specs: { multiattach: '<is> True' } }
  await child.as('admin').post(`${VOLUME}/types`, { volume_type })
}

/** Of everything in the project below that may be about a volume. */
async function namesBelow({ child }: NestedHarness): Promise<readonly string[]> {
  const demo = child.as('demo')
  const paths = [`${VOLUME}/volumes`, `${VOLUME}/snapshots`, '/image/v2/images']
  const lists = await Promise.all(
    paths.map(async (path) => {
      const { body } = await demo.get<Readonly<Record<string, readonly Named[]>>>(path)
      return Object.values(body).filter(Array.isArray).flat() as readonly Named[]
    }),
  )
  return lists.flat().map(({ name }) => name)
}

driverVolumesContract('nested', startNestedVolumes)
