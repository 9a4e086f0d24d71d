import type { operations } from '#openapi/compute.gen.ts'
import { listServingHosts } from '../../app/hosts/host-state.ts'
import { showHost as show, switchHost, updateHost as update } from '../../app/hosts/hosts.ts'
import type { Handler } from '../../http/operation.ts'
import { hostSummary, hostUseView } from '../../views/host.ts'

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
