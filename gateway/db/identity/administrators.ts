import { and, eq, isNotNull, or } from 'drizzle-orm'
import { alias } from 'drizzle-orm/mysql-core'
import type { Tx } from '#common/db/database.ts'
import {
  domains,
  roleAssignments as given,
  groupMembers,
  projects,
  roles,
  users,
} from '../schema/identity.ts'

/** True while somebody can log in with a password and act as administrator of the cloud. */
export async function hasAdministrator(tx: Tx): Promise<boolean> {
  const projectDomains = alias(domains, 'project_domains')
  const isUser = or(
    and(eq(given.actorType, 'user'), eq(given.actorId, users.id)),
    and(eq(given.actorType, 'group'), eq(groupMembers.userId, users.id)),
  )
  const isTargetUsable = or(
    eq(given.targetType, 'system'),
    and(
      eq(given.targetType, 'project'),
      eq(projects.enabled, true),
      eq(projectDomains.enabled, true),
    ),
  )
  const rows = await tx.orm
    .select({ id: users.id })
    .from(given)
    .innerJoin(
      roles,
      and(eq(roles.id, given.roleId), eq(roles.name, 'admin'), eq(roles.domainId, '')),
    )
    .leftJoin(groupMembers, eq(groupMembers.groupId, given.actorId))
    .innerJoin(users, isUser)
    .innerJoin(domains, eq(domains.id, users.domainId))
    .leftJoin(projects, eq(projects.id, given.targetId))
    .leftJoin(projectDomains, eq(projectDomains.id, projects.domainId))
    .where(
      and(
        eq(given.inherited, false),
        isTargetUsable,
        eq(users.enabled, true),
        isNotNull(users.passwordHash),
        eq(domains.enabled, true),
      ),
    )
    .limit(1)
  return rows.length > 0
}
