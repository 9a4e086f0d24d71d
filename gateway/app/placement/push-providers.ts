import { isDeepStrictEqual } from 'node:util'
import { workContext } from '#common/context.ts'
import { type HostRecord, hostsByIds, listHosts } from '../../db/host-list.ts'
import { listProviderSettings, NOTHING_DECIDED } from '../../db/provider-settings.ts'
import { changeInCell, type HostChangeDeps } from '../hosts/change-in-cell.ts'

/**
 * Afterwards the cell of this host knows what administrators decided about it. A cell that cannot be reached gets it when it
 * is back.
 */
export async function pushProvider(deps: HostChangeDeps, hostId: string): Promise<void> {
  await pushOwed(deps, await hostsByIds(deps.db, [hostId]))
}

/** As `pushProvider`, for every host there is. Returns how many it was pushed to. */
export async function pushProviders(deps: HostChangeDeps): Promise<number> {
  return pushOwed(deps, await listHosts(deps.db))
}

async function pushOwed(deps: HostChangeDeps, hosts: readonly HostRecord[]): Promise<number> {
  const decided = await listProviderSettings(deps.db)
  let pushed = 0
  for (const host of hosts) {
    const { hostId, settings: known = NOTHING_DECIDED.settings } = host.view
    const { settings } = decided.get(hostId) ?? NOTHING_DECIDED
    if (isDeepStrictEqual(known, settings)) continue
    const isPushed = await changeInCell(deps, host, (cell) =>
      deps.askCell(cell, 'host.set-provider', { hostId, settings }, { work: workContext({}) }),
    )
    if (isPushed) pushed += 1
  }
  return pushed
}
