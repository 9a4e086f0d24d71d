import type { operations } from '#openapi/compute.gen.ts'
import { isAllowed } from '../../../app/policy.ts'
import { serverTopology } from '../../../app/servers/server-topology.ts'
import type { Handler } from '../../../http/operation.ts'
import { topologyView } from '../../../views/topology.ts'

export const showServerTopology: Handler<operations['showServerTopology']> = async (call) => {
  const { app, context, params } = call
  const topology = await serverTopology(app.compute, context, params.server_id)
  const showsHost = isAllowed(context, 'compute:server:topology:host:index')
  return { body: topologyView(topology, showsHost) }
}
