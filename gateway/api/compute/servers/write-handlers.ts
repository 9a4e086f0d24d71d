import { gone } from '../gone.ts'
import { addServerFixedIp } from './actions/add-server-fixed-ip.ts'
import { addServerSecurityGroup } from './actions/add-server-security-group.ts'
import { changeServerPassword } from './actions/change-server-password.ts'
import { createServerBackup } from './actions/create-server-backup.ts'
import { createServerImage } from './actions/create-server-image.ts'
import { evacuateServer } from './actions/evacuate-server.ts'
import { forceDeleteServer } from './actions/force-delete-server.ts'
import { injectNetworkInfo } from './actions/inject-network-info.ts'
import { liveMigrateServer } from './actions/live-migrate-server.ts'
import { lockServer } from './actions/lock-server.ts'
import { migrateServer } from './actions/migrate-server.ts'
import { plainActionHandlers } from './actions/plain-actions.ts'
import { rebootServer } from './actions/reboot-server.ts'
import { rebuildServer } from './actions/rebuild-server.ts'
import { refuseFloatingIp } from './actions/refuse-floating-ip.ts'
import { removeServerFixedIp } from './actions/remove-server-fixed-ip.ts'
import { removeServerSecurityGroup } from './actions/remove-server-security-group.ts'
import { rescueServer } from './actions/rescue-server.ts'
import { resetServerState } from './actions/reset-server-state.ts'
import { resizeServer } from './actions/resize-server.ts'
import { restoreServer } from './actions/restore-server.ts'
import { revertServerResize } from './actions/revert-server-resize.ts'
import { shelveServer } from './actions/shelve-server.ts'
import { showServerConsoleOutput } from './actions/show-server-console-output.ts'
import { unlockServer } from './actions/unlock-server.ts'
import { unshelveServer } from './actions/unshelve-server.ts'
import { createServer } from './create-server.ts'
import { deleteServer } from './delete-server.ts'
import { updateServer } from './update-server.ts'

/** What changes servers, or asks their cell. */
export const serverWriteHandlers = {
  createServer,
  updateServer,
  deleteServer,
  ...plainActionHandlers,
  rebootServer,
  rescueServer,
  createServerImage,
  createServerBackup,
  rebuildServer,
  resizeServer,
  revertServerResize,
  shelveServer,
  unshelveServer,
  changeServerPassword,
  lockServer,
  unlockServer,
  resetServerState,
  injectNetworkInfo,
  forceDeleteServer,
  restoreServer,
  migrateServer,
  liveMigrateServer,
  evacuateServer,
  resetServerNetwork: gone,
  showServerConsoleOutput,
  addServerSecurityGroup,
  removeServerSecurityGroup,
  addServerFixedIp,
  removeServerFixedIp,
  addServerFloatingIp: refuseFloatingIp,
  removeServerFloatingIp: refuseFloatingIp,
}
