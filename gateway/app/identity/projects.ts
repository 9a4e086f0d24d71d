import { assignedTargets } from '../../db/identity/assigned-roles.ts'
import { findDomain, listDomains } from '../../db/identity/domains.ts'
import { findProject, listProjects, type ProjectFilter } from '../../db/identity/projects.ts'
import { findUser } from '../../db/identity/users.ts'
import type { Caller } from '../request-context.ts'
import { enforceInDomain, listedDomain, reached } from './domain-reach.ts'
import type { Identity } from './identity.ts'
import { type ListQuery, readPage } from './list-query.ts'
import { type Listed, NO_ENTRIES, READ_MAX } from './listed.ts'
import { type Domain, noSuch, type Project } from './model.ts'

export interface ProjectQuery extends ListQuery, Pick<ProjectFilter, 'tags'> {
  readonly parentId?: string | undefined
  /** Domains instead of projects, which they are to Keystone, too. */
  readonly isDomain?: boolean | undefined
}

/**
 * The projects; with a token for a domain, the projects of that domain. A domain as parent means the projects right
 * below it.
 */
export async function allProjects(
  { db }: Identity,
  caller: Caller,
  { isDomain, parentId, tags, ...query }: ProjectQuery,
): Promise<Listed<Project | Domain>> {
  const domainId = listedDomain(caller, query.domainId)
  if (domainId === null) return NO_ENTRIES
  if (isDomain === true) {
    // Domains belong to no domain, and have no parent.
    if (query.domainId !== undefined || parentId !== undefined) return NO_ENTRIES
    const ids = domainId === undefined ? undefined : [domainId]
    return readPage(query, (filter, limit) => listDomains(db, { ...filter, ids }, limit))
  }
  const isTop = parentId !== undefined && (await findDomain(db, parentId)) !== undefined
  const place = isTop ? { parentId: null, domainId: domainId ?? parentId } : { parentId, domainId }
  return readPage(query, (filter, limit) => listProjects(db, { ...filter, ...place, tags }, limit))
}

/** The project of the token, or any one for callers who may see others; a domain's id gives the domain. */
export async function oneProject(
  { db }: Identity,
  caller: Caller,
  id: string,
): Promise<Project | Domain> {
  const project = (await findProject(db, id)) ?? (await findDomain(db, id))
  if (id !== caller.projectId) enforceProject(caller, 'identity:get_project:other', project)
  if (project === undefined) throw noSuch('project', id)
  return project
}

/** Throws `forbidden` for a project, or domain, that the rule does not let the caller reach. */
function enforceProject(caller: Caller, rule: string, project: Project | Domain | undefined): void {
  enforceInDomain(caller, rule, isProject(project) ? project.domain.id : project?.id)
}

export function isProject(it: Project | Domain | undefined): it is Project {
  return it !== undefined && 'domain' in it
}

/** The projects above one, the topmost first, and all below it. */
export async function relativesOf(
  { db }: Identity,
  { id, ancestors }: Project,
): Promise<{ readonly above: readonly Project[]; readonly below: readonly Project[] }> {
  const [above, below] = await Promise.all([
    listProjects(db, { ids: ancestors }, READ_MAX),
    listProjects(db, { below: id }, READ_MAX),
  ])
  return { above: above.toSorted((a, b) => a.ancestors.length - b.ancestors.length), below }
}

/** The projects in which a user has a role; other users' for callers who may see those. */
export async function projectsOfUser(
  { db }: Identity,
  caller: Caller,
  userId: string,
  query: ListQuery,
): Promise<Listed<Project>> {
  if (userId !== caller.userId) {
    const rule = 'identity:list_user_projects:other'
    reached(await findUser(db, userId), 'user', userId, caller, rule)
  }
  const { projects: reach } = await assignedTargets(db, userId, READ_MAX)
  return readPage(query, (filter, limit) => listProjects(db, { ...filter, reach }, limit))
}

/** Throws `not-found`, and `forbidden` for another project's tags unless `othersRule` allows the caller. */
export async function tagsOfProject(
  identity: Identity,
  caller: Caller,
  id: string,
  othersRule: string,
): Promise<readonly string[]> {
  const project = await findProject(identity.db, id)
  if (id !== caller.projectId) enforceProject(caller, othersRule, project)
  if (project === undefined) throw noSuch('project', id)
  return project.tags
}

/** Throws `not-found` for a tag the project does not have. */
export async function requireTag(
  identity: Identity,
  caller: Caller,
  id: string,
  tag: string,
): Promise<void> {
  const tags = await tagsOfProject(identity, caller, id, 'identity:get_project_tag:other')
  if (!tags.includes(tag)) throw noSuch('project tag', tag)
}
