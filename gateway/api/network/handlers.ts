import type { operations } from '#openapi/network.gen.ts'
import type { HandlerTable } from '../../http/operation.ts'
import {
  listAgents,
  listAvailabilityZones,
  listExtensions,
  showAgent,
  showExtension,
} from './extensions.ts'
import { floatingIpHandlers } from './floating-ips.ts'
import {
  createNetwork,
  deleteNetwork,
  listNetworks,
  showNetwork,
  updateNetwork,
} from './networks.ts'
import { portForwardingHandlers } from './port-forwardings.ts'
import { createPort, deletePort, listPorts, showPort, updatePort } from './ports.ts'
import {
  deleteQuota,
  listQuotas,
  showDefaultQuota,
  showQuota,
  showQuotaDetails,
  updateQuota,
} from './quotas.ts'
import { rbacPolicyHandlers } from './rbac-policies.ts'
import { routerHandlers } from './routers.ts'
import {
  createSecurityGroupRule,
  deleteSecurityGroupRule,
  listSecurityGroupRules,
  showSecurityGroupRule,
} from './security-group-rules.ts'
import {
  createSecurityGroup,
  deleteSecurityGroup,
  listSecurityGroups,
  showSecurityGroup,
  updateSecurityGroup,
} from './security-groups.ts'
import { subnetPoolHandlers } from './subnet-pools.ts'
import { createSubnet, deleteSubnet, listSubnets, showSubnet, updateSubnet } from './subnets.ts'
import {
  addObjectTag,
  checkObjectTag,
  deleteObjectTags,
  listObjectTags,
  removeObjectTag,
  replaceObjectTags,
} from './tags.ts'
import { topologyHandlers } from './topology.ts'
import { listResources, listVersions } from './versions.ts'

/** A handler for every operation of openapi/network.yaml. */
export const networkHandlers: HandlerTable<operations> = {
  createNetwork,
  createPort,
  createSecurityGroup,
  createSecurityGroupRule,
  createSubnet,
  deleteNetwork,
  deletePort,
  deleteQuota,
  deleteSecurityGroup,
  deleteSecurityGroupRule,
  deleteSubnet,
  listAgents,
  listAvailabilityZones,
  listExtensions,
  listNetworks,
  listPorts,
  listQuotas,
  listResources,
  listSecurityGroupRules,
  listSecurityGroups,
  listSubnets,
  listVersions,
  showAgent,
  showDefaultQuota,
  showExtension,
  showNetwork,
  showPort,
  showQuota,
  showQuotaDetails,
  showSecurityGroup,
  showSecurityGroupRule,
  showSubnet,
  updateNetwork,
  updatePort,
  updateQuota,
  updateSecurityGroup,
  updateSubnet,
  listObjectTags,
  replaceObjectTags,
  deleteObjectTags,
  checkObjectTag,
  addObjectTag,
  removeObjectTag,
  ...portForwardingHandlers,
  ...rbacPolicyHandlers,
  ...routerHandlers,
  ...floatingIpHandlers,
  ...subnetPoolHandlers,
  ...topologyHandlers,
}
