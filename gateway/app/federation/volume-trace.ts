import { Failure } from '#common/errors.ts'
import { listTraces } from '../../db/traces.ts'
import { findVolume } from '../../db/volumes.ts'
import type { ComputeDeps } from '../compute.ts'
import type { Volume } from '../volumes/volume.ts'
import { foundIdOf } from './named.ts'
import type { Decision } from './trace.ts'

/** How a volume came to where it is. */
export interface TracedVolume {
  readonly volume: Volume
  readonly decisions: readonly Decision[]
}

/** The volume of this id or name, of any project, and every decision about it. Throws `not-found`, and `conflict` for a name of several. */
export async function traceOfVolume(
  { db }: Pick<ComputeDeps, 'db'>,
  idOrName: string,
): Promise<TracedVolume> {
  const id = await foundIdOf(db, 'volume', idOrName)
  const volume = await findVolume(db, id)
  if (volume === undefined)
    throw new Failure('not-found', `There is no volume with the id or name ${idOrName}.`)
  return { volume, decisions: await listTraces(db, id) }
}
