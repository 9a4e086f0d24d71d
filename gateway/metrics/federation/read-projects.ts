import type { Executor } from '#common/db/database.ts'
import { type Quotas, quotaStates } from '../../app/networks/quotas.ts'
import { quotaLimits } from '../../app/quotas/quota-limits.ts'
import type { QuotaLimits } from '../../app/quotas/resources.ts'
import { defaultVolumeLimits } from '../../app/volumes/quota-limits.ts'
import { largestProjects, type ProjectUse } from '../../db/federation-counts.ts'
import { computeUses, networkUses, volumeUses } from '../../db/project-quotas.ts'

const GIGABYTES = 'gigabytes'
const SERVER_GROUPS = 'server_groups'

/** A project with what it uses of its quotas. */
export interface ProjectQuotas {
  readonly use: ProjectUse
  readonly limits: QuotaLimits
  readonly serverGroups: number
  readonly network: Quotas
  /** GiB of volumes and snapshots; -1: no limit. */
  readonly gigabytes: { readonly used: number; readonly limit: number }
}

/** The projects with the most servers, at most `max`. */
export async function readProjects(db: Executor, max: number): Promise<readonly ProjectQuotas[]> {
  const largest = await largestProjects(db, max)
  const ids = largest.map(({ projectId }) => projectId)
  const groups = byProject(await computeUses(db, ids, [SERVER_GROUPS]))
  const network = byProject(await networkUses(db, ids))
  const volumes = byProject(await volumeUses(db, ids, [GIGABYTES]))
  const { limits: defaults } = await defaultVolumeLimits(db)
  return Promise.all(
    largest.map(async (use) => {
      const rows = network.get(use.projectId) ?? []
      const [ofVolumes] = volumes.get(use.projectId) ?? []
      return {
        use,
        limits: await quotaLimits(db, use.projectId),
        serverGroups: groups.get(use.projectId)?.[0]?.used ?? 0,
        network: quotaStates(new Map(rows.map((row) => [row.resource, row]))),
        gigabytes: {
          used: ofVolumes?.used ?? 0,
          limit: ofVolumes?.limit ?? defaults.gigabytes,
        },
      }
    }),
  )
}

function byProject<Row extends { readonly projectId: string }>(
  rows: readonly Row[],
): ReadonlyMap<string, readonly Row[]> {
  return Map.groupBy(rows, ({ projectId }) => projectId)
}
