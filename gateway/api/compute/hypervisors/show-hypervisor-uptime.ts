import type { operations } from '#openapi/compute.gen.ts'
import { findHypervisor } from '../../../app/hosts/find-hypervisor.ts'
import { hypervisorUptime } from '../../../app/hosts/hypervisor-uptime.ts'
import type { Handler } from '../../../http/operation.ts'
import { hypervisorSummary } from '../../../views/hypervisor.ts'
import { hostIdsOf } from './host-ids.ts'

export const showHypervisorUptime: Handler<operations['showHypervisorUptime']> = async (call) => {
  const { app, context, params } = call
  const { cells } = app.compute
  const host = await findHypervisor(app.db, params.hypervisor_id, hostIdsOf(context))
  const uptime = await hypervisorUptime(app.compute, context, host)
  return { body: { hypervisor: { ...hypervisorSummary(host, { context, cells }), uptime } } }
}
