import type { operations } from '#openapi/network.gen.ts'
import type { HandlerTable } from '../../http/operation.ts'
import { listAgents } from './extensions/list-agents.ts'
import { listAvailabilityZones } from './extensions/list-availability-zones.ts'
import { listExtensions } from './extensions/list-extensions.ts'
import { showAgent } from './extensions/show-agent.ts'
import { showExtension } from './extensions/show-extension.ts'
import { createNetwork } from './networks/create-network.ts'
import { deleteNetwork } from './networks/delete-network.ts'
import { listNetworks } from './networks/list-networks.ts'
import { showNetwork } from './networks/show-network.ts'
import { updateNetwork } from './networks/update-network.ts'
import { createPort } from './ports/create-port.ts'
import { deletePort } from './ports/delete-port.ts'
import { listPorts } from './ports/list-ports.ts'
import { showPort } from './ports/show-port.ts'
import { updatePort } from './ports/update-port.ts'
import { deleteQuota } from './quotas/delete-quota.ts'
import { listQuotas } from './quotas/list-quotas.ts'
import { showDefaultQuota } from './quotas/show-default-quota.ts'
import { showQuota } from './quotas/show-quota.ts'
import { showQuotaDetails } from './quotas/show-quota-details.ts'
import { updateQuota } from './quotas/update-quota.ts'
import { rbacPolicyHandlers } from './rbac-policies/rbac-policy-handlers.ts'
import { createSecurityGroupRule } from './security-group-rules/create-security-group-rule.ts'
import { deleteSecurityGroupRule } from './security-group-rules/delete-security-group-rule.ts'
import { listSecurityGroupRules } from './security-group-rules/list-security-group-rules.ts'
import { showSecurityGroupRule } from './security-group-rules/show-security-group-rule.ts'
import { createSecurityGroup } from './security-groups/create-security-group.ts'
import { deleteSecurityGroup } from './security-groups/delete-security-group.ts'
import { listSecurityGroups } from './security-groups/list-security-groups.ts'
import { showSecurityGroup } from './security-groups/show-security-group.ts'
import { updateSecurityGroup } from './security-groups/update-security-group.ts'
import { createSubnet } from './subnets/create-subnet.ts'
import { deleteSubnet } from './subnets/delete-subnet.ts'
import { listSubnets } from './subnets/list-subnets.ts'
import { showSubnet } from './subnets/show-subnet.ts'
import { updateSubnet } from './subnets/update-subnet.ts'
import { addObjectTag } from './tags/add-object-tag.ts'
import { checkObjectTag } from './tags/check-object-tag.ts'
import { deleteObjectTags } from './tags/delete-object-tags.ts'
import { listObjectTags } from './tags/list-object-tags.ts'
import { removeObjectTag } from './tags/remove-object-tag.ts'
import { replaceObjectTags } from './tags/replace-object-tags.ts'
import { listResources } from './versions/list-resources.ts'
import { listVersions } from './versions/list-versions.ts'

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
  ...rbacPolicyHandlers,
}
