import type { HostUse } from '../app/hosts/hosts.ts'
import type { HostRecord } from '../db/host-list.ts'
import type { ProjectUse } from '../db/host-use.ts'
import { withDedicated } from './with-dedicated.ts'

export function hostSummary({ view }: HostRecord) {
  return { host_name: view.name, service: 'compute', zone: view.zone }
}

/** The amounts that a host has, that are used, that its servers may use, and that those of each project may use. */
export function hostUseView({ host: { view }, projects }: HostUse) {
  const { vcpus = 0, memoryMb = 0, diskGb = 0, resources } = view.inventory ?? {}
  const { used } = view
  const row = (project: string, use: Omit<ProjectUse, 'projectId'>) => ({
    resource: {
      host: view.name,
      project,
      cpu: use.vcpus,
      memory_mb: use.memoryMb,
      disk_gb: use.diskGb,
    },
  })
  const sum = (of: (use: ProjectUse) => number) =>
    projects.reduce((total, use) => total + of(use), 0)
  const most = {
    vcpus: sum((use) => use.vcpus),
    memoryMb: sum((use) => use.memoryMb),
    diskGb: sum((use) => use.diskGb),
  }
  return [
    row('(total)', { vcpus: withDedicated(vcpus, resources), memoryMb, diskGb }),
    row('(used_now)', { ...used, vcpus: withDedicated(used.vcpus, used.custom) }),
    row('(used_max)', most),
    ...projects.map((use) => row(use.projectId, use)),
  ]
}
