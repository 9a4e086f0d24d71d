import { Failure } from '#common/errors.ts'
import type { Compute } from '../compute.ts'
import { flavorForBoot } from '../flavors/flavor-for-boot.ts'
import type { RequestContext } from '../request-context.ts'
import { actOnServer } from './act-on-server.ts'
import { refuseAction } from './refuse-action.ts'
import { showServer } from './show-server.ts'

export interface ResizeRequest {
  readonly flavorRef: string
  readonly diskConfig: 'AUTO' | 'MANUAL'
}

/**
 * Afterwards the server's cell has accepted to give it the flavor, on the host it is on, or has found no room for it.
 * Throws as `actOnServer`; `invalid` for a flavor it cannot have; `over-quota`.
 */
export async function resizeServer(
  compute: Compute,
  context: RequestContext,
  id: string,
  { flavorRef, diskConfig }: ResizeRequest,
): Promise<void> {
  const server = await showServer(compute.db, context, id)
  refuseAction(server, context, 'resize')
  const flavor = await flavorForBoot(compute.db, context, flavorRef)
  if (flavor.id === server.flavor.id)
    throw new Failure('invalid', 'When resizing, instances must change flavor!')
  if (flavor.rootGb === 0 && server.flavor.rootGb > 0)
    throw new Failure('invalid', 'Resize to zero disk flavor is not allowed.')
  const plan = { kind: 'resize', flavor, previous: server.flavor, diskConfig } as const
  await actOnServer(compute, context, id, { name: 'resize', plan })
}
