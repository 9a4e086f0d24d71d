import { Failure, isFailure } from '#common/errors.ts'
import type { ComputeDeps } from '../compute.ts'
import type { RequestContext } from '../request-context.ts'
import type { WantedStores } from './choose-cell.ts'
import { showVolume } from './volumes.ts'

/** What a user says of where a volume is to be: ids of volumes. */
export interface StoreHints {
  /** In the store of one of them; empty, or absent: anywhere. */
  readonly same?: readonly string[]
  /** In none of their stores. */
  readonly different?: readonly string[]
}

const NAMES = { same: 'same_host', different: 'different_host' } as const

/**
 * The stores that the hints mean (Cinder: SameBackendFilter, DifferentBackendFilter); undefined: any. Throws `invalid` for a
 * volume that there is not, or that the requester does not see, and for one that is in no store.
 */
export async function hintedStores(
  deps: Pick<ComputeDeps, 'db'>,
  context: RequestContext,
  { same = [], different = [] }: StoreHints,
): Promise<WantedStores | undefined> {
  if (same.length === 0 && different.length === 0) return undefined
  const amongStores = await storesOf(deps, context, 'same', same)
  const notInStores = await storesOf(deps, context, 'different', different)
  return {
    ...(same.length > 0 && { amongStores }),
    ...(different.length > 0 && { notInStores }),
  }
}

async function storesOf(
  deps: Pick<ComputeDeps, 'db'>,
  context: RequestContext,
  hint: keyof typeof NAMES,
  ids: readonly string[],
): Promise<readonly string[]> {
  const stores = new Set<string>()
  for (const id of ids) {
    const volume = await showVolume(deps, context, id).catch((error: unknown) => {
      if (isFailure(error, 'not-found')) return undefined
      throw error
    })
    if (volume === undefined) throw unusable(hint, id, 'which could not be found')
    // It has none while it is created, and if it could not be.
    if (volume.storeId === null)
      throw unusable(hint, id, `which is '${volume.status}' and in no store`)
    stores.add(volume.storeId)
  }
  return [...stores]
}

function unusable(hint: keyof typeof NAMES, id: string, reason: string): Failure {
  return new Failure(
    'invalid',
    `Invalid input received: Scheduler hint '${NAMES[hint]}' names volume ${id}, ${reason}.`,
  )
}
