import type { operations } from '#openapi/compute.gen.ts'
import { allHypervisors } from '../../../app/hosts/list-hypervisors.ts'
import type { Handler } from '../../../http/operation.ts'
import { statisticsView } from '../../../views/hypervisor.ts'

type Operation = operations['showHypervisorStatistics']

export const showHypervisorStatistics: Handler<Operation> = async ({ app }) => {
  const hosts = await allHypervisors(app.db)
  return { body: { hypervisor_statistics: statisticsView(hosts) } }
}
