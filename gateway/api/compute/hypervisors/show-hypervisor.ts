import type { operations } from '#openapi/compute.gen.ts'
import { findHypervisor } from '../../../app/hosts/find-hypervisor.ts'
import { hostedServers } from '../../../app/hosts/hosted-servers.ts'
import type { Handler } from '../../../http/operation.ts'
import { hypervisorView } from '../../../views/hypervisor.ts'
import { hostIdsOf } from './host-ids.ts'
import { shownUptimes } from './shown-uptimes.ts'

export const showHypervisor: Handler<operations['showHypervisor']> = async (call) => {
  const { app, context, params, query } = call
  const host = await findHypervisor(app.db, params.hypervisor_id, hostIdsOf(context))
  const servers = await hostedServers(app.db, [host], query.with_servers)
  const uptimes = await shownUptimes(call, [host])
  const options = { context, cells: app.compute.cells, ...servers, ...uptimes }
  return { body: { hypervisor: hypervisorView(host, options) } }
}
