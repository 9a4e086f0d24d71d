import type { Handlers } from '../../../http/operation.ts'
import { pauseServer } from './actions/pause-server.ts'
import { rebootServer } from './actions/reboot-server.ts'
import { showServerConsoleOutput } from './actions/show-server-console-output.ts'
import { startServer } from './actions/start-server.ts'
import { stopServer } from './actions/stop-server.ts'
import { unpauseServer } from './actions/unpause-server.ts'
import { createServer } from './create-server.ts'
import { deleteServer } from './delete-server.ts'
import { updateServer } from './update-server.ts'

/** What changes servers, or asks their cell. */
export const serverWriteHandlers: Handlers = {
  createServer,
  updateServer,
  deleteServer,
  startServer,
  stopServer,
  rebootServer,
  pauseServer,
  unpauseServer,
  showServerConsoleOutput,
}
