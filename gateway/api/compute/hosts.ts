import type { operations } from '#openapi/compute.gen.ts'
import { listServingHosts } from '../../app/hosts/host-state.ts'
import {
  type HostUse,
  showHost as show,
  switchHost,
  updateHost as update,
} from '../../app/hosts/hosts.ts'
import type { HostRecord } from '../../db/host-list.ts'
import type { ProjectUse } from '../../db/host-use.ts'
import type { Handler } from '../../http/operation.ts'
import { withDedicated } from '../../views/with-dedicated.ts'

const listHosts: Handler<operations['listHosts']> = async ({ app, query }) => {
  const hosts = await listServingHosts(app.db, query.zone)
  return { body: { hosts: hosts.map(hostSummary) } }
}

const rebootHost: Handler<operations['rebootHost']> = ({ app, params }) =>
  switchHost(app, params.host_name)

const showHost: Handler<operations['showHost']> = async ({ app, params }) => ({
  body: { host: hostUseView(await show(app.db, params.host_name)) },
})

const shutHostDown: Handler<operations['shutHostDown']> = ({ app, params }) =>
  switchHost(app, params.host_name)

const startHostUp: Handler<operations['startHostUp']> = ({ app, params }) =>
  switchHost(app, params.host_name)

const updateHost: Handler<operations['updateHost']> = async (call) => {
  const { app, context, params, body } = call
  const isEnabled = isYes(body.status)
  const maintenance = isYes(body.maintenance_mode)
  await update(app.compute, context, params.host_name, {
    ...(isEnabled !== undefined && { isEnabled }),
    ...(maintenance !== undefined && { maintenance }),
  })
  return { body: { host: params.host_name, status: isEnabled === true ? 'enabled' : 'disabled' } }
}

function isYes(word: string | undefined): boolean | undefined {
  return word === undefined ? undefined : word.toLowerCase() === 'enable'
}

export const hostHandlers = {
  listHosts,
  rebootHost,
  showHost,
  shutHostDown,
  startHostUp,
  updateHost,
}

function hostSummary({ view }: HostRecord) {
  return { host_name: view.name, service: 'compute', zone: view.zone }
}

/** The amounts that a host has, that are used, that its servers may use, and that those of each project may use. */
function hostUseView({ host: { view }, projects }: HostUse) {
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
