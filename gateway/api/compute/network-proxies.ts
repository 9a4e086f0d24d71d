import type { operations } from '#openapi/compute.gen.ts'
import {
  createSecurityGroup,
  deleteSecurityGroup,
  updateSecurityGroup,
} from '../../app/networks/change-security-group.ts'
import { usableNetwork, usableNetworks } from '../../app/networks/list-networks.ts'
import {
  asComputeSays,
  createProxiedRule,
  listProxiedGroups,
  proxiedGroupId,
  showProxiedGroup,
  withRemotes,
} from '../../app/networks/proxied-groups.ts'
import { deleteSecurityGroupRule } from '../../app/networks/security-group-rules.ts'
import type { Handler } from '../../http/operation.ts'
import { proxiedNetworkView, tenantNetworkView } from '../../views/proxied-network.ts'
import { proxiedGroupView, proxiedRuleView } from '../../views/proxied-security-group.ts'
import { gone } from './gone.ts'

/** POST /os-security-groups */
const createProxiedSecurityGroup: Handler<operations['createProxiedSecurityGroup']> = async (
  call,
) => {
  const { app, context, body } = call
  const group = await asComputeSays(createSecurityGroup(app.networks, context, body.security_group))
  const { remotes } = await withRemotes(app.db, [group])
  return { body: { security_group: proxiedGroupView(group, remotes) } }
}

/** POST /os-security-group-rules */
const createProxiedSecurityGroupRule: Handler<
  operations['createProxiedSecurityGroupRule']
> = async (call) => {
  const { app, context, body } = call
  const asked = body.security_group_rule
  const { rule, remotes } = await createProxiedRule(app.networks, context, {
    groupId: asked.parent_group_id,
    remoteGroupId: asked.group_id ?? null,
    cidr: asked.cidr ?? null,
    protocol: asked.ip_protocol ?? null,
    from: asked.from_port ?? null,
    to: asked.to_port ?? null,
  })
  return { body: { security_group_rule: proxiedRuleView(rule, remotes) } }
}

/** DELETE /os-security-groups/{group_id} */
const deleteProxiedSecurityGroup: Handler<operations['deleteProxiedSecurityGroup']> = async (
  call,
) => {
  const { app, context, params } = call
  await asComputeSays(deleteSecurityGroup(app.networks, context, proxiedGroupId(params.group_id)))
  return {}
}

/** DELETE /os-security-group-rules/{rule_id} */
const deleteProxiedSecurityGroupRule: Handler<
  operations['deleteProxiedSecurityGroupRule']
> = async (call) => {
  const { app, context, params } = call
  await asComputeSays(deleteSecurityGroupRule(app.networks, context, params.rule_id))
  return {}
}

/** GET /os-networks */
const listProxiedNetworks: Handler<operations['listProxiedNetworks']> = async (call) => {
  const { app, context } = call
  const networks = await usableNetworks(app.networks, context)
  return { body: { networks: networks.map((network) => proxiedNetworkView(network, context)) } }
}

/** GET /os-security-groups */
const listProxiedSecurityGroups: Handler<operations['listProxiedSecurityGroups']> = async (
  call,
) => {
  const { app, context, query } = call
  const { groups, remotes } = await listProxiedGroups(app.networks, context, query)
  return { body: { security_groups: groups.map((group) => proxiedGroupView(group, remotes)) } }
}

/** GET /os-tenant-networks */
const listTenantNetworks: Handler<operations['listTenantNetworks']> = async (call) => {
  const { app, context } = call
  const networks = await usableNetworks(app.networks, context)
  return { body: { networks: networks.map((network) => tenantNetworkView(network)) } }
}

/** GET /os-networks/{network_id} */
const showProxiedNetwork: Handler<operations['showProxiedNetwork']> = async (call) => {
  const { app, context, params } = call
  const network = await usableNetwork(app.networks, context, params.network_id)
  return { body: { network: proxiedNetworkView(network, context) } }
}

/** GET /os-security-groups/{group_id} */
const showProxiedSecurityGroup: Handler<operations['showProxiedSecurityGroup']> = async (call) => {
  const { app, context, params } = call
  const { group, remotes } = await showProxiedGroup(app.networks, context, params.group_id)
  return { body: { security_group: proxiedGroupView(group, remotes) } }
}

/** GET /os-tenant-networks/{network_id} */
const showTenantNetwork: Handler<operations['showTenantNetwork']> = async (call) => {
  const { app, context, params } = call
  const network = await usableNetwork(app.networks, context, params.network_id)
  return { body: { network: tenantNetworkView(network) } }
}

/** PUT /os-security-groups/{group_id} */
const updateProxiedSecurityGroup: Handler<operations['updateProxiedSecurityGroup']> = async (
  call,
) => {
  const { app, context, params, body } = call
  const id = proxiedGroupId(params.group_id)
  const changing = updateSecurityGroup(app.networks, context, id, body.security_group)
  const group = await asComputeSays(changing)
  const { remotes } = await withRemotes(app.db, [group])
  return { body: { security_group: proxiedGroupView(group, remotes) } }
}

export const networkProxyHandlers = {
  actOnProxiedNetwork: gone,
  addProxiedNetwork: gone,
  createProxiedNetwork: gone,
  createProxiedSecurityGroup,
  createProxiedSecurityGroupRule,
  createTenantNetwork: gone,
  deleteProxiedNetwork: gone,
  deleteProxiedSecurityGroup,
  deleteProxiedSecurityGroupRule,
  deleteTenantNetwork: gone,
  listProxiedNetworks,
  listProxiedSecurityGroups,
  listTenantNetworks,
  showProxiedNetwork,
  showProxiedSecurityGroup,
  showTenantNetwork,
  updateProxiedSecurityGroup,
}
