import type { PlacementPolicy } from '../../db/placement-policies.ts'

/** A placement policy as the federation API shows it. */
export function placementPolicyView(policy: PlacementPolicy) {
  const { rules } = policy
  return {
    id: policy.id,
    name: policy.name,
    description: policy.description,
    is_selectable: policy.isSelectable,
    is_default: policy.isDefault,
    projects: policy.projectIds,
    flavors: policy.flavorIds,
    tolerations: rules.tolerations,
    preference: rules.preference,
    spread: rules.spread && {
      over: rules.spread.over,
      max_skew: rules.spread.maxSkew,
      is_required: rules.spread.isRequired,
    },
    limits: rules.limits && {
      servers: rules.limits.servers,
      vcpus: rules.limits.vcpus,
      memory_mb: rules.limits.memoryMb,
    },
    cost_weight: rules.costWeight,
    on_host_failure: rules.onHostFailure,
    on_guest_failure: rules.onGuestFailure,
    users_may_move: rules.usersMayMove,
    drains_to_other_cells: rules.drainsToOtherCells,
    created_at: policy.createdAt.toISOString(),
    updated_at: policy.updatedAt.toISOString(),
  }
}

/** Changes with every change of the policy. */
export function placementPolicyTag({ revision }: PlacementPolicy): string {
  return `"${revision}"`
}
