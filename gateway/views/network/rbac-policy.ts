import type { RbacPolicy } from '../../db/rbac-policies.ts'

/** Only networks are shared by policies here, and in one way. */
export function rbacPolicyView({ id, projectId, networkId, target }: RbacPolicy) {
  return {
    id,
    project_id: projectId,
    tenant_id: projectId,
    object_id: networkId,
    object_type: 'network' as const,
    action: 'access_as_shared' as const,
    target_tenant: target,
    target_project: target,
  }
}
