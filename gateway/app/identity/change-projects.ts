import type { Tx } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import { deleteProjects } from '../../db/identity/delete-identities.ts'
import { findDomain, lockDomain } from '../../db/identity/domains.ts'
import {
  insertProject,
  listProjects,
  lockProject,
  updateProject,
} from '../../db/identity/projects.ts'
import { deleteTokens } from '../../db/identity/tokens.ts'
import { enforce } from '../policy.ts'
import type { Caller } from '../request-context.ts'
import { changeAccess } from './change-access.ts'
import { domainOfNew, enforceInDomain, reached } from './domain-reach.ts'
import { changeDomainAsProject, createDomainAsProject, isDomain, removeDomain } from './domains.ts'
import type { Identity } from './identity.ts'
import { refuseAboveManager } from './managed-roles.ts'
import {
  boundedExtra,
  type Domain,
  type Extra,
  newKeystoneId,
  noSuch,
  type Project,
  refuseChange,
  refuseDelete,
} from './model.ts'

/** As Keystone's `max_project_tree_depth`, the domain included. */
const DEPTH_MAX = 5
const TAGS_MAX = 80
const TAG_LENGTH_MAX = 255

export interface ProjectFields {
  readonly name: string
  readonly description: string
  readonly enabled: boolean
  readonly immutable: boolean
  readonly tags: readonly string[]
  readonly extra: Extra
}

export interface NewProjectFields extends ProjectFields {
  /** That of the parent, else the caller's, when undefined. */
  readonly domainId: string | undefined
  /** A project or a domain; the domain when undefined. */
  readonly parentId: string | undefined
  /** True: it is a domain, and in none. */
  readonly isDomain: boolean
}

/** Throws `conflict` for a name the domain has. */
export async function createProject(
  identity: Identity,
  caller: Caller,
  asked: NewProjectFields,
): Promise<Project | Domain> {
  if (asked.isDomain) return createDomainAsProject(identity, caller, asked)
  return identity.db.transaction(async (tx) => {
    const { domain, parent } = await placeOf(tx, caller, asked)
    enforceInDomain(caller, 'identity:create_project', domain.id)
    const { domainId: _, parentId: __, isDomain: ___, ...fields } = asked
    const project = {
      ...fields,
      extra: boundedExtra({}, asked.extra),
      id: newKeystoneId(),
      domain,
      parentId: parent?.id ?? null,
      ancestors: parent === undefined ? [] : [...parent.ancestors, parent.id],
      isActive: asked.enabled && domain.enabled,
    }
    if (project.ancestors.length + 2 > DEPTH_MAX)
      throw new Failure(
        'forbidden',
        `Max hierarchy depth reached for ${parent?.id} branch: projects nest ${DEPTH_MAX - 1} deep.`,
      )
    await insertProject(tx, project, new Date(identity.clock.now()))
    return project
  })
}

async function placeOf(
  tx: Tx,
  caller: Caller,
  { domainId, parentId }: NewProjectFields,
): Promise<{ readonly domain: Domain; readonly parent: Project | undefined }> {
  const isTop = parentId === undefined || (await findDomain(tx, parentId)) !== undefined
  const parent = isTop ? undefined : await lockProject(tx, parentId)
  if (!isTop && parent === undefined) throw noSuch('project', parentId)
  const inDomain = parent?.domain.id ?? parentId
  if (domainId !== undefined && inDomain !== undefined && domainId !== inDomain)
    throw new Failure('invalid', 'The parent is not in the domain given by domain_id.')
  const id = inDomain ?? domainOfNew(caller, domainId)
  const domain = await lockDomain(tx, id)
  if (domain === undefined) {
    enforceInDomain(caller, 'identity:create_project', undefined)
    throw noSuch('domain', id)
  }
  if (parent?.enabled === false)
    throw new Failure(
      'forbidden',
      `Cannot create project in a branch that is disabled: ${parent.id}.`,
    )
  return { domain, parent }
}

export interface ProjectChange extends Partial<ProjectFields> {
  /** May be given as they are. */
  readonly domainId?: string | undefined
  readonly parentId?: string | null | undefined
}

/** Afterwards the project, or the domain of this id, is as given; once it is disabled, no token for it is valid. */
export async function changeProject(
  identity: Identity,
  caller: Caller,
  id: string,
  { domainId, parentId, ...change }: ProjectChange,
): Promise<Project | Domain> {
  if (await isDomain(identity, id)) return changeDomainAsProject(identity, caller, id, change)
  return changeAccess(identity, async (tx) => {
    const before = await lockedProject(tx, caller, id, 'identity:update_project')
    refuseMove(before, domainId, parentId)
    const extra = boundedExtra(before.extra, change.extra ?? {})
    const after = { ...before, ...change, extra }
    refuseChange('project', before, after.immutable)
    if (before.enabled && !after.enabled) await refuseEnabledChildren(tx, id)
    await updateProject(tx, after)
    if (before.enabled && !after.enabled)
      await refuseAboveManager(tx, caller, { what: 'project', id }, 'identity:update_project')
    if (!after.enabled) await deleteTokens(tx, { scope: { type: 'project', ids: [id] } })
    return after
  })
}

function refuseMove(
  { domain, parentId: parent }: Project,
  domainId: string | undefined,
  parentId: string | null | undefined,
): void {
  if (domainId !== undefined && domainId !== domain.id)
    throw new Failure('invalid', 'Update of `domain_id` is not allowed.')
  if (parentId !== undefined && parentId !== (parent ?? domain.id))
    throw new Failure('forbidden', 'Update of `parent_id` is not allowed.')
}

async function refuseEnabledChildren(tx: Tx, id: string): Promise<void> {
  const [child] = await listProjects(tx, { below: id, enabled: true }, 1)
  if (child !== undefined)
    throw new Failure(
      'forbidden',
      `Cannot disable project ${id} since its subtree contains enabled projects.`,
    )
}

/** Afterwards the project is gone with the roles in it; servers and other things it owns stay. */
export async function removeProject(identity: Identity, caller: Caller, id: string): Promise<void> {
  if (await isDomain(identity, id)) {
    enforce(caller, 'identity:delete_domain')
    return removeDomain(identity, id)
  }
  await changeAccess(identity, async (tx) => {
    const project = await lockedProject(tx, caller, id, 'identity:delete_project')
    refuseDelete('project', project)
    await refuseAboveManager(tx, caller, { what: 'project', id }, 'identity:delete_project')
    const [child] = await listProjects(tx, { below: id }, 1)
    if (child !== undefined)
      throw new Failure(
        'forbidden',
        `Cannot delete the project ${id} since it is not a leaf in the hierarchy.`,
      )
    await deleteProjects(tx, [id])
  })
}

/** Afterwards the tags are what `next` makes of those before. */
export async function changeTags(
  { db }: Identity,
  caller: Caller,
  id: string,
  rule: string,
  next: (before: readonly string[]) => readonly string[],
): Promise<readonly string[]> {
  return db.transaction(async (tx) => {
    const project = await lockedProject(tx, caller, id, rule)
    const tags = [...new Set(next(project.tags))]
    if (tags.length > TAGS_MAX)
      throw new Failure('invalid', `A project has at most ${TAGS_MAX} tags.`)
    await updateProject(tx, { ...project, tags })
    return tags
  })
}

/** Afterwards the project has the tag. */
export async function addTag(
  identity: Identity,
  caller: Caller,
  id: string,
  tag: string,
): Promise<void> {
  if (tag.length > TAG_LENGTH_MAX || /[,/]/.test(tag))
    throw new Failure(
      'invalid',
      `A tag has at most ${TAG_LENGTH_MAX} characters, and neither commas nor slashes.`,
    )
  const rule = 'identity:create_project_tag'
  await changeTags(identity, caller, id, rule, (before) => [...before, tag])
}

/** Afterwards the project does not have the tag; throws `not-found` when that was so before. */
export async function removeTag(
  identity: Identity,
  caller: Caller,
  id: string,
  tag: string,
): Promise<void> {
  await changeTags(identity, caller, id, 'identity:delete_project_tag', (before) => {
    if (!before.includes(tag)) throw noSuch('project tag', tag)
    return before.filter((it) => it !== tag)
  })
}

async function lockedProject(tx: Tx, caller: Caller, id: string, rule: string): Promise<Project> {
  return reached(await lockProject(tx, id), 'project', id, caller, rule)
}
