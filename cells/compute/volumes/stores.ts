import type { Static } from 'typebox'
import { isFailure } from '#common/errors.ts'
import { errorFields } from '#common/log.ts'
import type { VolumeList, VolumeListAnswer, WireStore } from '#openapi/wire/volume.ts'
import type { Compute } from '../compute.ts'
import { driverPart } from '../driver-part.ts'

const STORES_TIMEOUT_MS = 5_000
const LIST_TIMEOUT_MS = 20_000
/** Volumes and snapshots in one answer: far below what a message may hold. */
const LISTED_MAX = 5_000

/**
 * The stores that the host reaches now, by id; undefined where its driver has no volumes. None while they cannot be read,
 * which is no reason to report nothing.
 */
export async function reachedStores({ driver, log }: Compute): Promise<WireStore[] | undefined> {
  if (driver.volumes === undefined) return undefined
  const signal = AbortSignal.timeout(STORES_TIMEOUT_MS)
  try {
    const stores = await driver.volumes.stores(signal)
    return stores
      .map(({ lacks, ...store }) => ({ ...store, ...(lacks && { lacks: [...lacks] }) }))
      .toSorted((a, b) => (a.id < b.id ? -1 : 1))
  } catch (error) {
    // The report says of a backend that is away why.
    if (!isFailure(error, 'unavailable'))
      log.warn(errorFields(error), 'stores of volumes could not be read')
    return []
  }
}

/** The volumes of the cell in one of the host's stores, as many as one answer names. */
export async function listVolumes(
  { driver }: Compute,
  { store, after = '' }: Static<typeof VolumeList>,
): Promise<Static<typeof VolumeListAnswer>> {
  const signal = AbortSignal.timeout(LIST_TIMEOUT_MS)
  const found = await driverPart(driver, 'volumes').list(store, signal)
  const rest = found
    .filter(({ id }) => id > after)
    .toSorted((a, b) => (a.id < b.id ? -1 : 1))
    .map(({ id, bytes, snapshots }) => ({ id, bytes, snapshots: [...snapshots] }))
  let named = 0
  // One at least: the next request asks for those after it.
  const cut = rest.findIndex(({ snapshots }, at) => {
    named += 1 + snapshots.length
    return at > 0 && named > LISTED_MAX
  })
  return cut === -1 ? { volumes: rest } : { volumes: rest.slice(0, cut), hasMore: true }
}
