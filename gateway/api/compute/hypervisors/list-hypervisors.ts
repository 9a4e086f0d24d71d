import type { operations } from '#openapi/compute.gen.ts'
import type { Handler } from '../../../http/operation.ts'
import { hypervisorSummary } from '../../../views/hypervisor.ts'
import { hypervisorPage } from './hypervisor-page.ts'

export const listHypervisors: Handler<operations['listHypervisors']> = async (call) => ({
  body: await hypervisorPage(call, hypervisorSummary),
})
