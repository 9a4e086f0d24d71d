import type { Call } from '../../http/operation.ts'
import type { VolumeViewParts } from '../../views/volume/volume.ts'

/** What views of volumes show besides the volumes, for one request. */
export async function viewParts({
  app,
  links,
}: Pick<Call, 'app' | 'links'>): Promise<VolumeViewParts> {
  const cells = app.compute.cells.cells().map(({ id, name }): [string, string] => [id, name])
  return { links, typeNames: new Map(), cellNames: new Map(cells) }
}
