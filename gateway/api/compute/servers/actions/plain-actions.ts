import type { PlainAct } from '#openapi/wire/act.ts'
import { actOnServer } from '../../../../app/servers/act-on-server.ts'
import type { Handler, Handlers } from '../../../../http/operation.ts'

const plain =
  (name: PlainAct): Handler =>
  async (call) => {
    await actOnServer(call.app.compute, call.context, call.params['server_id']!, { name })
    return {}
  }

/** Actions of which the name says all. */
export const plainActionHandlers: Handlers = {
  startServer: plain('start'),
  stopServer: plain('stop'),
  pauseServer: plain('pause'),
  unpauseServer: plain('unpause'),
  suspendServer: plain('suspend'),
  resumeServer: plain('resume'),
  unrescueServer: plain('unrescue'),
  triggerServerCrashDump: plain('crash-dump'),
  confirmServerResize: plain('confirm-resize'),
  offloadShelvedServer: plain('shelve-offload'),
}
