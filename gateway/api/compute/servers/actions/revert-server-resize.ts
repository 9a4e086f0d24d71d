import { actOnServer } from '../../../../app/servers/act-on-server.ts'
import type { Handler } from '../../../../http/operation.ts'

export const revertServerResize: Handler = async (call) => {
  const act = { name: 'revert-resize', plan: { kind: 'revert' } } as const
  await actOnServer(call.app.compute, call.context, call.params['server_id']!, act)
  return {}
}
