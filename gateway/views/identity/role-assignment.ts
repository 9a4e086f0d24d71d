import type { Assigned, RoleAssignment } from '#openapi/identity.gen.ts'
import type { AssignmentView } from '../../app/identity/assignment-names.ts'
import type { NamedRef, RoleRef } from '../../app/identity/token-view.ts'
import type { Links } from '../../http/links.ts'
import { namedReference, reference } from './references.ts'

export function roleAssignmentView(assignment: AssignmentView, links: Links): RoleAssignment {
  const { actorType, actorId, roleId, targetType, targetId, inherited, groupId } = assignment
  const where = targetType === 'system' ? 'system' : `${targetType}s/${targetId}`
  // An assignment through a group is changed at the group.
  const actor = groupId === undefined ? `${actorType}s/${actorId}` : `groups/${groupId}`
  const grant = `${where}/${actor}/roles/${roleId}`
  const path = inherited ? `OS-INHERIT/${grant}/inherited_to_projects` : grant
  return {
    role: plain(roleId, assignment.role),
    ...(actorType === 'user'
      ? { user: named(actorId, assignment.user) }
      : { group: named(actorId, assignment.group) }),
    scope: {
      ...targetView(assignment),
      ...(inherited && { 'OS-INHERIT:inherited_to': 'projects' as const }),
    },
    links: {
      assignment: links.to(`/identity/v3/${path}`),
      ...(groupId !== undefined && {
        membership: links.to(`/identity/v3/groups/${groupId}/users/${actorId}`),
      }),
    },
  }
}

function targetView(assignment: AssignmentView): RoleAssignment['scope'] {
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
