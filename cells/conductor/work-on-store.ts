import { isFailure } from '#common/errors.ts'
import type { HostId } from '#common/ids.ts'
import { type HostOutcome, type HostWork, reasonOf, workOnHost } from './ask-host.ts'
import type { Conductor } from './conductor.ts'

export type StoreOperation =
  | 'volume-create'
  | 'volume-destroy'
  | 'volume-extend'
  | 'volume-export'
  | 'volume-pack'
  | 'volume-revert'
  | 'volume-reimage'
  | 'volume-snapshot'
  | 'volume-destroy-snapshot'

/** The outcome of a change of a volume or snapshot at a host, for the log of a saga. */
export type VolumeDone =
  | { readonly outcome: 'done' }
  | { readonly outcome: 'failed'; readonly reason: string }
  /** Another saga has taken it over. */
  | { readonly outcome: 'unwanted' }

/** Asks the host until it has changed the volume or snapshot, or says that it cannot; `unavailable` while it stays silent. */
export async function workOnStore<O extends StoreOperation>(
  conductor: Conductor,
  asked: HostWork<O> & { readonly host: HostId },
): Promise<VolumeDone> {
  try {
    return doneOf(await workOnHost(conductor, asked))
  } catch (error) {
    // Nothing was changed: the host does not know the operation, or not the store.
    if (!isFailure(error) || error.kind === 'unavailable') throw error
    return { outcome: 'failed', reason: error.message }
  }
}

function doneOf(outcome: HostOutcome): VolumeDone {
  switch (outcome.state) {
    case 'done':
      return { outcome: 'done' }
    case 'unwanted':
      return { outcome: 'unwanted' }
    case 'failed':
    case 'stale':
    case 'fenced':
      return { outcome: 'failed', reason: reasonOf(outcome) }
  }
}
