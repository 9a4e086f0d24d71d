import type { operations } from '#openapi/compute.gen.ts'
import type { HandlerTable } from '../../http/operation.ts'
import { aggregateHandlers } from './aggregates.ts'
import { assistedSnapshotHandlers } from './assisted-snapshots.ts'
import { baremetalNodeHandlers } from './baremetal-nodes.ts'
import { consoleHandlers } from './consoles.ts'
import { eventHandlers } from './events.ts'
import { extensionHandlers } from './extensions.ts'
import { flavorHandlers } from './flavors.ts'
import { floatingIpHandlers } from './floating-ips.ts'
import { guestInfoHandlers } from './guest-info.ts'
import { hostHandlers } from './hosts.ts'
import { hypervisorHandlers } from './hypervisors.ts'
import { imageHandlers } from './images.ts'
import { instanceActionHandlers } from './instance-actions.ts'
import { keypairHandlers } from './keypairs.ts'
import { migrationHandlers } from './migrations.ts'
import { networkProxyHandlers } from './network-proxies.ts'
import { quotaHandlers } from './quotas.ts'
import { removedHandlers } from './removed.ts'
import { serverActionHandlers } from './server-actions.ts'
import { serverGroupHandlers } from './server-groups.ts'
import { serverMetadataHandlers } from './server-metadata.ts'
import { serverNetworkHandlers } from './server-networks.ts'
import { serverTagHandlers } from './server-tags.ts'
import { serverHandlers, volumeBootHandlers } from './servers.ts'
import { serviceHandlers } from './services.ts'
import { snapshotProxyHandlers } from './snapshot-proxies.ts'
import { usageHandlers } from './usage.ts'
import { versionHandlers } from './versions.ts'
import { volumeProxyHandlers } from './volume-proxies.ts'
import { volumeHandlers } from './volumes.ts'
import { zoneHandlers } from './zones.ts'

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
  ...floatingIpHandlers,
  ...imageHandlers,
  ...instanceActionHandlers,
  ...keypairHandlers,
  ...migrationHandlers,
  ...networkProxyHandlers,
  ...quotaHandlers,
  ...guestInfoHandlers,
  ...removedHandlers,
  ...serverGroupHandlers,
  ...serverMetadataHandlers,
  ...serverNetworkHandlers,
  ...serverHandlers,
  ...serverTagHandlers,
  ...serviceHandlers,
  ...usageHandlers,
  ...versionHandlers,
  ...volumeBootHandlers,
  ...snapshotProxyHandlers,
  ...volumeHandlers,
  ...volumeProxyHandlers,
  ...zoneHandlers,
  ...serverActionHandlers,
}
