import { gone } from '../gone.ts'
import { createProxiedSecurityGroup } from './create-proxied-security-group.ts'
import { createProxiedSecurityGroupRule } from './create-proxied-security-group-rule.ts'
import { deleteProxiedSecurityGroup } from './delete-proxied-security-group.ts'
import { deleteProxiedSecurityGroupRule } from './delete-proxied-security-group-rule.ts'
import {
  createFloatingIp,
  listFloatingIpPools,
  listFloatingIps,
  noFloatingIp,
} from './floating-ips.ts'
import { listProxiedNetworks } from './list-proxied-networks.ts'
import { listProxiedSecurityGroups } from './list-proxied-security-groups.ts'
import { listTenantNetworks } from './list-tenant-networks.ts'
import { showProxiedNetwork } from './show-proxied-network.ts'
import { showProxiedSecurityGroup } from './show-proxied-security-group.ts'
import { showTenantNetwork } from './show-tenant-network.ts'
import { updateProxiedSecurityGroup } from './update-proxied-security-group.ts'

export const networkProxyHandlers = {
  actOnProxiedNetwork: gone,
  addProxiedNetwork: gone,
  createFloatingIp,
  createProxiedNetwork: gone,
  createProxiedSecurityGroup,
  createProxiedSecurityGroupRule,
  createTenantNetwork: gone,
  deleteFloatingIp: noFloatingIp,
  deleteProxiedNetwork: gone,
  deleteProxiedSecurityGroup,
  deleteProxiedSecurityGroupRule,
  deleteTenantNetwork: gone,
  listFloatingIpPools,
  listFloatingIps,
  listProxiedNetworks,
  listProxiedSecurityGroups,
  listTenantNetworks,
  showFloatingIp: noFloatingIp,
  showProxiedNetwork,
  showProxiedSecurityGroup,
  showTenantNetwork,
  updateProxiedSecurityGroup,
}
