import type { operations } from '#openapi/compute.gen.ts'
import type { Handler } from '../../../http/operation.ts'
import { hypervisorView } from '../../../views/hypervisor.ts'
import { hypervisorPage } from './hypervisor-page.ts'
import { shownUptimes } from './shown-uptimes.ts'

export const listHypervisorsDetail: Handler<operations['listHypervisorsDetail']> = async (
  call,
) => ({
  body: await hypervisorPage(call, hypervisorView, (hosts) => shownUptimes(call, hosts)),
})
