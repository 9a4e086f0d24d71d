import type { operations } from '#openapi/compute.gen.ts'
import type { Handler } from '../../../http/operation.ts'

/** No operation makes an aggregate, so there is none; `openstack hypervisor show` asks for all of them. */
export const listAggregates: Handler<operations['listAggregates']> = () =>
  Promise.resolve({ body: { aggregates: [] } })
