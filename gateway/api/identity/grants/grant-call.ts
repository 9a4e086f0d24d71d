import type { GrantPlace } from '../../../app/identity/grants.ts'
import type { RoleAssignment } from '../../../app/identity/model.ts'
import type { Call } from '../../../http/operation.ts'

/** What the paths of grants hold; which of it, says the path. */
interface GrantOperation {
  readonly parameters: {
    readonly path: {
      readonly project_id?: string
      readonly domain_id?: string
      readonly user_id?: string
      readonly group_id?: string
      readonly role_id?: string
    }
  }
}

/** A request of any of the operations on grants: their paths differ only in who and where. */
export type GrantCall = Call<GrantOperation>

export function placeOf({ params, raw }: GrantCall): GrantPlace {
  const { project_id, domain_id, user_id, group_id } = params
  return {
    ...(user_id === undefined
      ? { actorType: 'group', actorId: group_id ?? '' }
      : { actorType: 'user', actorId: user_id }),
    ...targetOf(project_id, domain_id),
    inherited: raw.path.endsWith('/inherited_to_projects'),
  }
}

export function grantOf(call: GrantCall): RoleAssignment {
  return { ...placeOf(call), roleId: call.params.role_id ?? '' }
}

function targetOf(
  projectId: string | undefined,
  domainId: string | undefined,
): Pick<RoleAssignment, 'targetType' | 'targetId'> {
  if (projectId !== undefined) return { targetType: 'project', targetId: projectId }
  if (domainId !== undefined) return { targetType: 'domain', targetId: domainId }
  return { targetType: 'system', targetId: '' }
}
