import type { operations } from '#openapi/volume.gen.ts'
import type { HandlerTable } from '../../http/operation.ts'
import { listAvailabilityZones } from './availability-zones.ts'
import { listExtensions, showExtension } from './extensions.ts'
import { listVersions, showVersion } from './versions.ts'

/** A handler for every operation of openapi/volume.yaml. */
export const volumeHandlers: HandlerTable<operations> = {
  listAvailabilityZones,
  listExtensions,
  listVersions,
  showExtension,
  showVersion,
}
