import type { operations } from '#openapi/compute.gen.ts'
import { everyHost } from '../../../app/hosts/every-host.ts'
import type { Handler } from '../../../http/operation.ts'
import { statisticsView } from '../../../views/hypervisor.ts'

type Operation = operations['showHypervisorStatistics']

export const showHypervisorStatistics: Handler<Operation> = async ({ app }) => {
  const hosts = await everyHost(app.db)
  return { body: { hypervisor_statistics: statisticsView(hosts) } }
}
