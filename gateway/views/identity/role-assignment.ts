import type { Assigned, RoleAssignment } from '#openapi/identity.gen.ts'
import type { AssignmentView } from '../../app/identity/role-assignments.ts'
import type { NamedRef, RoleRef } from '../../app/identity/token-view.ts'
import type { Links } from '../../http/links.ts'
import { namedReference, reference } from './references.ts'

export function roleAssignmentView(assignment: AssignmentView, links: Links): RoleAssignment {
  const { userId, roleId, targetType, targetId, role, user } = assignment
  const where = targetType === 'system' ? 'system' : `${targetType}s/${targetId}`
  return {
    role: plain(roleId, role),
    user: named(userId, user),
    scope: scopeOf(assignment),
    links: {
      assignment: links.to(`/identity/v3/${where}/users/${userId}/roles/${roleId}`),
    },
  }
}

function scopeOf(assignment: AssignmentView): RoleAssignment['scope'] {
  const { targetType, targetId, project, domain } = assignment
  switch (targetType) {
    case 'project':
      return { project: named(targetId, project) }
    case 'domain':
      return { domain: plain(targetId, domain) }
    case 'system':
      return { system: { all: true } }
  }
}

function plain(id: string, ref: RoleRef | undefined): Assigned {
  return ref === undefined ? { id } : reference(ref)
}

function named(id: string, ref: NamedRef | undefined): Assigned {
  return ref === undefined ? { id } : namedReference(ref)
}
