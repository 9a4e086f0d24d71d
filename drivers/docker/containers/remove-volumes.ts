import { isFailure } from '#common/errors.ts'
import type { InstanceId } from '#common/ids.ts'
import type { DockerHost } from '../host.ts'
import { ownFilter } from '../names.ts'

/** Afterwards the instance has no volumes but these. */
export async function removeVolumes(
  { engine, owner }: DockerHost,
  id: InstanceId,
  kept: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  const query = { filters: ownFilter(owner, id) }
  const { Volumes } = await engine.call<{ Volumes: readonly { Name: string }[] | null }>(
    'GET',
    '/volumes',
    { query, signal },
  )
  for (const { Name } of Volumes ?? []) {
    if (kept.includes(Name)) continue
    await engine.call('DELETE', `/volumes/${Name}`, { signal }).catch((error: unknown) => {
      if (!isFailure(error, 'not-found')) throw error
    })
  }
}
