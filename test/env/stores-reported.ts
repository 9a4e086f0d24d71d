import { waitFor } from '#common/wait-for.ts'
import type { Cloud } from './cloud.ts'

const LIMIT_MS = 30_000

/** Waits until every gateway has heard of a store of each cell, so that volumes can be created. */
export async function storesReported(cloud: Cloud): Promise<void> {
  const admin = cloud.as('admin')
  for (const gateway of cloud.gateways.keys())
    await waitFor(
      'a store of each cell',
      async () => {
        const path = '/volume/v3/scheduler-stats/get_pools'
        const { body } = await admin.get<{ pools: { name: string }[] }>(path, { gateway })
        return cloud.cells.every((cell) =>
          body.pools.some(({ name }) => name.startsWith(`${cell.name}@`)),
        )
      },
      LIMIT_MS,
    )
}
