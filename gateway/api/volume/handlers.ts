import type { operations } from '#openapi/volume.gen.ts'
import type { HandlerTable } from '../../http/operation.ts'
import { absentHandlers } from './absent.ts'
import { attachmentHandlers } from './attachments.ts'
import { listAvailabilityZones } from './availability-zones.ts'
import { defaultTypeHandlers } from './default-types.ts'
import { listExtensions, showExtension } from './extensions.ts'
import { messageHandlers } from './messages.ts'
import { quotaHandlers } from './quotas.ts'
import { listResourceFilters } from './resource-filters.ts'
import { serviceHandlers } from './services.ts'
import { snapshotHandlers } from './snapshots.ts'
import { transferHandlers } from './transfers.ts'
import { typeEncryptionHandlers } from './type-encryption.ts'
import { typeExtraSpecHandlers } from './type-extra-specs.ts'
import { typeHandlers } from './types.ts'
import { listVersions, showVersion } from './versions.ts'
import { volumeImageMetadataHandlers } from './volume-image-metadata.ts'
import { volumeResourceHandlers } from './volumes.ts'

/** A handler for every operation of openapi/volume.yaml. */
export const volumeHandlers: HandlerTable<operations> = {
  ...absentHandlers,
  ...attachmentHandlers,
  ...defaultTypeHandlers,
  ...messageHandlers,
  ...quotaHandlers,
  ...serviceHandlers,
  ...snapshotHandlers,
  ...transferHandlers,
  ...typeEncryptionHandlers,
  ...typeExtraSpecHandlers,
  ...typeHandlers,
  listAvailabilityZones,
  listExtensions,
  listResourceFilters,
  listVersions,
  showExtension,
  showVersion,
  ...volumeImageMetadataHandlers,
  ...volumeResourceHandlers,
}
