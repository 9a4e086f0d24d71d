import type { operations } from '#openapi/federation.gen.ts'
import type { HandlerTable } from '../../http/operation.ts'
import { listAudit } from './audit/list-audit.ts'
import { declareCellLost } from './cells/declare-cell-lost.ts'
import { deleteCell } from './cells/delete-cell.ts'
import { listCells } from './cells/list-cells.ts'
import { showCell } from './cells/show-cell.ts'
import { updateCell } from './cells/update-cell.ts'
import { showDepth } from './depth/show-depth.ts'
import { listDrivers } from './drivers/list-drivers.ts'
import { listEvents } from './events/list-events.ts'
import { adoptGuest } from './hosts/adopt-guest.ts'
import { drainHost } from './hosts/drain-host.ts'
import { listHostServers } from './hosts/list-host-servers.ts'
import { listHosts } from './hosts/list-hosts.ts'
import { listUnmanagedGuests } from './hosts/list-unmanaged-guests.ts'
import { showHost } from './hosts/show-host.ts'
import { shutOutHost } from './hosts/shut-out-host.ts'
import { updateHost } from './hosts/update-host.ts'
import { listImageCopies } from './images/list-image-copies.ts'
import { cancelIntent } from './intents/cancel-intent.ts'
import { listIntents } from './intents/list-intents.ts'
import { join } from './join/join.ts'
import { renewCredential } from './join/renew-credential.ts'
import { addNode } from './nodes/add-node.ts'
import { inspectNode } from './nodes/inspect-node.ts'
import { listNodeSensors } from './nodes/list-node-sensors.ts'
import { listNodes } from './nodes/list-nodes.ts'
import { removeNode } from './nodes/remove-node.ts'
import { showNode } from './nodes/show-node.ts'
import { updateNode } from './nodes/update-node.ts'
import { cancelOperation } from './operations/cancel-operation.ts'
import { continueOperation } from './operations/continue-operation.ts'
import { listOperations } from './operations/list-operations.ts'
import { showOperation } from './operations/show-operation.ts'
import { adoptOrphan } from './orphans/adopt-orphan.ts'
import { endOrphan } from './orphans/end-orphan.ts'
import { listOrphans } from './orphans/list-orphans.ts'
import { explainPlacement } from './placements/explain-placement.ts'
import { listOperatedServers } from './servers/list-servers.ts'
import { repairServer } from './servers/repair-server.ts'
import { showChain } from './servers/show-chain.ts'
import { showTrace } from './servers/show-trace.ts'
import { verifyServer } from './servers/verify-server.ts'
import { createJoinToken } from './tokens/create-join-token.ts'
import { deleteJoinToken } from './tokens/delete-join-token.ts'
import { listJoinTokens } from './tokens/list-join-tokens.ts'
import { listVersions } from './versions/list-versions.ts'

/** A handler for every operation of openapi/federation.yaml. */
export const federationHandlers: HandlerTable<operations> = {
  adoptGuest,
  adoptOrphan,
  addNode,
  cancelIntent,
  cancelOperation,
  continueOperation,
  createJoinToken,
  declareCellLost,
  deleteCell,
  deleteJoinToken,
  drainHost,
  endOrphan,
  explainPlacement,
  inspectNode,
  join,
  listAudit,
  listCells,
  listDrivers,
  listEvents,
  listHostServers,
  listHosts,
  listImageCopies,
  listIntents,
  listJoinTokens,
  listNodeSensors,
  listNodes,
  listOperatedServers,
  listOperations,
  listOrphans,
  listUnmanagedGuests,
  listVersions,
  removeNode,
  renewCredential,
  repairServer,
  showCell,
  showChain,
  showDepth,
  showHost,
  showNode,
  showOperation,
  showTrace,
  shutOutHost,
  updateCell,
  updateHost,
  updateNode,
  verifyServer,
}
