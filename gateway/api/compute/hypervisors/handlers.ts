import { listHypervisorServers } from './list-hypervisor-servers.ts'
import { listHypervisors } from './list-hypervisors.ts'
import { listHypervisorsDetail } from './list-hypervisors-detail.ts'
import { searchHypervisors } from './search-hypervisors.ts'
import { showHypervisor } from './show-hypervisor.ts'
import { showHypervisorStatistics } from './show-hypervisor-statistics.ts'
import { showHypervisorUptime } from './show-hypervisor-uptime.ts'

export const hypervisorHandlers = {
  listHypervisorServers,
  listHypervisors,
  listHypervisorsDetail,
  searchHypervisors,
  showHypervisor,
  showHypervisorStatistics,
  showHypervisorUptime,
}
