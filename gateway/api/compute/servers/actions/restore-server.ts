import { actOnServer } from '../../../../app/servers/act-on-server.ts'
import type { Handler } from '../../../../http/operation.ts'

export const restoreServer: Handler = async (call) => {
  const { app, context, params } = call
  const act = { name: 'restore', plan: { kind: 'restore' } } as const
  await actOnServer(app.compute, context, params['server_id']!, act)
  return {}
}
