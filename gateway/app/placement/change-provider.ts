import type { Tx } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import type { ProviderSettings } from '#openapi/wire/provider.ts'
import { findHost, type HostRecord } from '../../db/host-list.ts'
import { lockProviderSettings, updateProviderSettings } from '../../db/provider-settings.ts'
import type { HostChangeDeps } from '../hosts/change-in-cell.ts'
import { findProvider, findTree } from './list-providers.ts'
import { PlacementFailure } from './placement-failure.ts'
import { generationOf, type Provider } from './provider.ts'
import { pushProvider } from './push-providers.ts'

/** What is decided from now on about a host that is so, and about which this was decided before. */
export type Decision = (
  tx: Tx,
  host: HostRecord,
  before: ProviderSettings,
) => Promise<ProviderSettings>

/**
 * Afterwards it is decided so about the host, and its cell knows, or gets to know it when it can be reached. `generation`
 * is that of the provider as its client has read it; undefined: any. Throws `not-found`; `invalid` for a part of a host;
 * `conflict` where the provider has changed since.
 */
export async function changeProvider(
  deps: HostChangeDeps,
  id: string,
  generation: number | undefined,
  decide: Decision,
): Promise<Provider> {
  const [root] = await findTree(deps.db, id)
  if (root.id !== id)
    throw new Failure(
      'invalid',
      `Resource provider ${id} is a part of host ${root.host}, about which nothing can be decided. Name the host itself, provider ${root.id}.`,
    )
  await deps.db.transaction(async (tx) => {
    const decided = await lockProviderSettings(tx, id)
    const host = await findHost(tx, id)
    if (host === undefined)
      throw new Failure('not-found', `No resource provider with uuid ${id} found.`)
    const present = generationOf(host, decided)
    if (generation !== undefined && generation !== present)
      throw new PlacementFailure(
        'conflict',
        'placement.concurrent_update',
        `Resource provider ${id} is of generation ${present} now, not ${generation}. Read it again, and repeat the change.`,
      )
    await updateProviderSettings(tx, id, await decide(tx, host, decided.settings))
  })
  await pushProvider(deps, id)
  return findProvider(deps.db, id)
}
