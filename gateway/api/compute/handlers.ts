import type { operations } from '#openapi/compute.gen.ts'
import type { HandlerTable } from '../../http/operation.ts'
import { aggregateHandlers } from './aggregates/handlers.ts'
import { assistedSnapshotHandlers } from './assisted-snapshots/handlers.ts'
import { baremetalNodeHandlers } from './baremetal-nodes/handlers.ts'
import { consoleHandlers } from './consoles/handlers.ts'
import { eventHandlers } from './events/handlers.ts'
import { extensionHandlers } from './extensions/handlers.ts'
import { flavorHandlers } from './flavors/handlers.ts'
import { hostHandlers } from './hosts/handlers.ts'
import { hypervisorHandlers } from './hypervisors/handlers.ts'
import { imageHandlers } from './images/handlers.ts'
import { instanceActionHandlers } from './instance-actions/handlers.ts'
import { keypairHandlers } from './keypairs/handlers.ts'
import { migrationHandlers } from './migrations/handlers.ts'
import { networkProxyHandlers } from './network-proxies/handlers.ts'
import { quotaHandlers } from './quotas/handlers.ts'
import { removedHandlers } from './removed/handlers.ts'
import { serverGroupHandlers } from './server-groups/handlers.ts'
import { serverInsideHandlers } from './server-insides/handlers.ts'
import { serverMetadataHandlers } from './server-metadata/handlers.ts'
import { serverNetworkHandlers } from './server-networks/handlers.ts'
import { serverTagHandlers } from './server-tags/handlers.ts'
import { serverReadHandlers } from './servers/read-handlers.ts'
import { volumeBootHandlers } from './servers/volume-boot-handlers.ts'
import { serverWriteHandlers } from './servers/write-handlers.ts'
import { serviceHandlers } from './services/handlers.ts'
import { usageHandlers } from './usage/handlers.ts'
import { versionHandlers } from './versions/handlers.ts'
import { volumeHandlers } from './volumes/handlers.ts'
import { zoneHandlers } from './zones/handlers.ts'

/** The handlers of openapi/compute.yaml. */
export const computeHandlers: HandlerTable<operations> = {
  ...aggregateHandlers,
  ...assistedSnapshotHandlers,
  ...baremetalNodeHandlers,
  ...consoleHandlers,
  ...eventHandlers,
  ...extensionHandlers,
  ...flavorHandlers,
  ...hostHandlers,
  ...hypervisorHandlers,
  ...imageHandlers,
  ...instanceActionHandlers,
  ...keypairHandlers,
  ...migrationHandlers,
  ...networkProxyHandlers,
  ...quotaHandlers,
  ...serverInsideHandlers,
  ...removedHandlers,
  ...serverGroupHandlers,
  ...serverMetadataHandlers,
  ...serverNetworkHandlers,
  ...serverReadHandlers,
  ...serverTagHandlers,
  ...serviceHandlers,
  ...usageHandlers,
  ...versionHandlers,
  ...volumeBootHandlers,
  ...volumeHandlers,
  ...zoneHandlers,
  ...serverWriteHandlers,
}
