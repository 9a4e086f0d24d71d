import type { operations } from '#openapi/federation.gen.ts'
import type { HandlerTable } from '../../http/operation.ts'
import { listAudit } from './audit.ts'
import {
  declareCellLost,
  deleteCell,
  explainRecovery,
  listCells,
  recoverCell,
  showCell,
  updateCell,
} from './cells.ts'
import { listDrivers, showDepth } from './drivers.ts'
import { listEvents } from './events.ts'
import { showHealth } from './health.ts'
import {
  adoptGuest,
  drainHost,
  listCellsBelow,
  listHostServers,
  listHosts,
  listUnmanagedGuests,
  showHost,
  shutOutHost,
  updateHost,
} from './hosts.ts'
import { listImageCaches, listImageCopies, preloadImage } from './images.ts'
import { cancelIntent, listIntents } from './intents.ts'
import { join, renewCredential } from './join.ts'
import { explainNetworkPath } from './networks.ts'
import {
  addNode,
  inspectNode,
  listNodeSensors,
  listNodes,
  removeNode,
  showNode,
  updateNode,
} from './nodes.ts'
import { cancelOperation, continueOperation, listOperations, showOperation } from './operations.ts'
import { adoptOrphan, endOrphan, listOrphans } from './orphans.ts'
import {
  createPlacementPolicy,
  deletePlacementPolicy,
  listPlacementPolicies,
  showPlacementPolicy,
  updatePlacementPolicy,
} from './placement-policies.ts'
import { explainPlacement } from './placements.ts'
import { showProjectQuota } from './projects.ts'
import { listProtections, protectServer, showProtection, unprotectServer } from './protections.ts'
import {
  forecastServerMove,
  listOperatedServers,
  moveServer,
  repairServer,
  showChain,
  showServerCounts,
  showTrace,
  verifyServer,
} from './servers.ts'
import { createJoinToken, deleteJoinToken, listJoinTokens } from './tokens.ts'
import { testTunnels } from './tunnels.ts'
import { showUsage } from './usage.ts'
import { listVersions } from './versions.ts'
import { moveVolume, showVolumeTrace } from './volumes.ts'
import {
  createWebhook,
  deleteWebhook,
  listDeadLetters,
  listWebhooks,
  redeliverDeadLetter,
  replaceWebhookSecret,
  showWebhook,
  updateWebhook,
} from './webhooks.ts'

/** A handler for every operation of openapi/federation.yaml. */
export const federationHandlers: HandlerTable<operations> = {
  adoptGuest,
  adoptOrphan,
  addNode,
  cancelIntent,
  cancelOperation,
  continueOperation,
  createJoinToken,
  createPlacementPolicy,
  createWebhook,
  declareCellLost,
  explainRecovery,
  recoverCell,
  deleteCell,
  deleteJoinToken,
  deletePlacementPolicy,
  deleteWebhook,
  drainHost,
  endOrphan,
  explainNetworkPath,
  explainPlacement,
  inspectNode,
  join,
  listAudit,
  listCells,
  listDeadLetters,
  listDrivers,
  listEvents,
  listCellsBelow,
  listHostServers,
  listHosts,
  listImageCaches,
  listImageCopies,
  preloadImage,
  listIntents,
  listJoinTokens,
  listNodeSensors,
  listNodes,
  listOperatedServers,
  listOperations,
  listOrphans,
  listPlacementPolicies,
  listUnmanagedGuests,
  listVersions,
  showUsage,
  listWebhooks,
  redeliverDeadLetter,
  replaceWebhookSecret,
  removeNode,
  renewCredential,
  listProtections,
  protectServer,
  showProtection,
  unprotectServer,
  forecastServerMove,
  moveServer,
  repairServer,
  showCell,
  showChain,
  showServerCounts,
  showHealth,
  showDepth,
  showHost,
  showNode,
  showOperation,
  showPlacementPolicy,
  showProjectQuota,
  showTrace,
  moveVolume,
  showVolumeTrace,
  showWebhook,
  shutOutHost,
  testTunnels,
  updateCell,
  updateHost,
  updateNode,
  updatePlacementPolicy,
  updateWebhook,
  verifyServer,
}
