import type { operations } from '#openapi/compute.gen.ts'
import { hypervisorUptime } from '../../../app/hosts/hypervisor-uptime.ts'
import type { Handler } from '../../../http/operation.ts'
import { hostIdsOf } from './host-ids.ts'

export const showHypervisorUptime: Handler<operations['showHypervisorUptime']> = async (call) => {
  const { app, context, params } = call
  return hypervisorUptime(app.db, params.hypervisor_id, hostIdsOf(context))
}
