import type { operations } from '#openapi/compute.gen.ts'
import {
  floatingIpPools,
  type ProxiedFloatingIp,
  proxiedFloatingIp,
  proxiedFloatingIps,
  returnProxiedFloatingIp,
  takeProxiedFloatingIp,
} from '../../app/networks/proxied-floating-ips.ts'
import { addFloatingIp, removeFloatingIp } from '../../app/servers/interfaces/floating-ips.ts'
import type { Handler } from '../../http/operation.ts'

/** GET /os-floating-ips */
const listFloatingIps: Handler<operations['listFloatingIps']> = async ({ app, context }) => {
  const ips = await proxiedFloatingIps(app.networks, context)
  return { body: { floating_ips: ips.map(proxiedFloatingIpView) } }
}

/** POST /os-floating-ips */
const createFloatingIp: Handler<operations['createFloatingIp']> = async (call) => {
  const { app, context, body } = call
  const taken = await takeProxiedFloatingIp(app.networks, context, body?.pool ?? null)
  return { body: { floating_ip: proxiedFloatingIpView(taken) } }
}

/** GET /os-floating-ips/{floating_ip_id} */
const showFloatingIp: Handler<operations['showFloatingIp']> = async (call) => {
  const { app, context, params } = call
  const found = await proxiedFloatingIp(app.networks, context, params.floating_ip_id)
  return { body: { floating_ip: proxiedFloatingIpView(found) } }
}

/** DELETE /os-floating-ips/{floating_ip_id} */
const deleteFloatingIp: Handler<operations['deleteFloatingIp']> = async (call) => {
  const { app, context, params } = call
  await returnProxiedFloatingIp(app.networks, context, params.floating_ip_id)
  return {}
}

/** GET /os-floating-ip-pools */
const listFloatingIpPools: Handler<operations['listFloatingIpPools']> = async (call) => {
  const pools = await floatingIpPools(call.app.networks, call.context)
  return { body: { floating_ip_pools: pools.map((name) => ({ name })) } }
}

const addServerFloatingIp: Handler<operations['addServerFloatingIp']> = async (call) => {
  const { app, context, params, body } = call
  await addFloatingIp(app.networks, context, params.server_id, body.addFloatingIp)
  return {}
}

const removeServerFloatingIp: Handler<operations['removeServerFloatingIp']> = async (call) => {
  const { app, context, params, body } = call
  const { address } = body.removeFloatingIp
  await removeFloatingIp(app.networks, context, params.server_id, address)
  return {}
}

export const floatingIpHandlers = {
  listFloatingIps,
  createFloatingIp,
  showFloatingIp,
  deleteFloatingIp,
  listFloatingIpPools,
  addServerFloatingIp,
  removeServerFloatingIp,
}

function proxiedFloatingIpView({ ip, pool }: ProxiedFloatingIp) {
  return {
    id: ip.id,
    ip: ip.address,
    pool,
    fixed_ip: ip.fixedAddress,
    instance_id: ip.fixedPort?.deviceId ?? null,
  }
}
