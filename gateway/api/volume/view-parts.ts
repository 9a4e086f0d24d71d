import { typeNames } from '../../app/volumes/types.ts'
import type { ShownVolume } from '../../app/volumes/volume.ts'
import { attachmentsByVolume } from '../../app/volumes/volumes.ts'
import type { Call } from '../../http/operation.ts'
import type { VolumeViewParts } from '../../views/volume/volume.ts'

/** What the views of some volumes show besides the volumes. */
export async function viewParts(
  { app, links }: Pick<Call, 'app' | 'links'>,
  volumes: readonly ShownVolume[],
): Promise<VolumeViewParts> {
  const cells = app.compute.cells.cells().map(({ id, name }): [string, string] => [id, name])
  const [names, attachments] = await Promise.all([
    typeNames(
      app.db,
      volumes.flatMap(({ typeId }) => typeId ?? []),
    ),
    attachmentsByVolume(app.compute, volumes),
  ])
  return { links, typeNames: names, cellNames: new Map(cells), attachments }
}
