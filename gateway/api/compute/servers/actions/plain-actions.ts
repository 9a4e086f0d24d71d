import type { PlainAct } from '#openapi/wire/act.ts'
import { actOnServer } from '../../../../app/servers/act-on-server.ts'
import { powerServer } from '../../../../app/servers/power-server.ts'
import type { Handler } from '../../../../http/operation.ts'

const plain =
  (name: PlainAct): Handler =>
  async (call) => {
    await actOnServer(call.app.compute, call.context, call.params['server_id']!, { name })
    return {}
  }

const power =
  (wish: 'start' | 'stop'): Handler =>
  async (call) => {
    await powerServer(call.app.compute, call.context, call.params['server_id']!, wish)
    return {}
  }

/** Actions of which the name says all. */
export const plainActionHandlers = {
  startServer: power('start'),
  stopServer: power('stop'),
  pauseServer: plain('pause'),
  unpauseServer: plain('unpause'),
  suspendServer: plain('suspend'),
  resumeServer: plain('resume'),
  unrescueServer: plain('unrescue'),
  triggerServerCrashDump: plain('crash-dump'),
  confirmServerResize: plain('confirm-resize'),
  offloadShelvedServer: plain('shelve-offload'),
}
