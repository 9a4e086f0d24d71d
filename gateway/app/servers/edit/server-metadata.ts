import type { Executor } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import type { Requester } from '../../requester.ts'
import { refuseLocked, refuseUnbuilt } from '../acts/refuse-action.ts'
import { showServer } from '../list/show-server.ts'
import { limitMetadata } from './limit-metadata.ts'
import { type EditDeps, editServer } from './update-server.ts'

export type Metadata = Readonly<Record<string, string>>

/**
 * Afterwards the server has these items, and with `keep` also those it had under other keys. Returns all of them.
 * Throws `not-found`; `conflict` for a server that is locked or not built; `over-quota` for too many.
 */
export async function setMetadata(
  deps: EditDeps,
  requester: Requester,
  id: string,
  { items, keep }: { readonly items: Metadata; readonly keep: boolean },
): Promise<Metadata> {
  let all = items
  await editServer(deps, requester, id, async (server) => {
    refuseLocked(server, requester)
    refuseUnbuilt(server, 'update metadata')
    all = keep ? { ...server.metadata, ...items } : items
    await limitMetadata(deps.db, server, all)
    return { metadata: all }
  })
  return all
}

/** One item under its key. Throws `not-found`. */
export async function showMetadataItem(
  db: Executor,
  requester: Requester,
  id: string,
  key: string,
): Promise<Metadata> {
  return { [key]: itemOf((await showServer(db, requester, id)).metadata, key) }
}

/** Afterwards the server has no item of that key. Throws `not-found`, and `conflict` as `setMetadata`. */
export async function deleteMetadataItem(
  deps: EditDeps,
  requester: Requester,
  id: string,
  key: string,
): Promise<void> {
  await editServer(deps, requester, id, (server) => {
    itemOf(server.metadata, key)
    refuseLocked(server, requester)
    refuseUnbuilt(server, 'delete metadata')
    const { [key]: _, ...metadata } = server.metadata
    return { metadata }
  })
}

function itemOf(metadata: Metadata, key: string): string {
  const value = Object.hasOwn(metadata, key) ? metadata[key] : undefined
  if (value === undefined) throw new Failure('not-found', 'Metadata item was not found')
  return value
}
