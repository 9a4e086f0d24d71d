import { and, asc, eq, inArray, or, type SQL, sql } from 'drizzle-orm'
import type { Executor, Tx } from '#common/db/database.ts'
import { lockRows } from '#common/db/lock-rows.ts'
import { builder, statement } from '#common/db/statement.ts'
import type { Extra, ListFilter, Project } from '../../app/identity/model.ts'
import { domains, projects } from '../schema/identity.ts'
import { listConditions } from './list-conditions.ts'
import { orNameTaken } from './name-taken.ts'

const COLUMNS = {
  id: projects.id,
  name: projects.name,
  description: projects.description,
  parentId: projects.parentId,
  ancestors: projects.ancestors,
  enabled: projects.enabled,
  immutable: projects.immutable,
  tags: projects.tags,
  extra: projects.extra,
  isActive: sql<number>`${projects.enabled} AND ${domains.enabled}`.as('is_active'),
  domainId: sql<string>`${domains.id}`.as('domain_id'),
  domainName: sql<string>`${domains.name}`.as('domain_name'),
}

const find = (where: SQL) =>
  statement(
    builder
      .select(COLUMNS)
      .from(projects)
      .innerJoin(domains, eq(domains.id, projects.domainId))
      .where(where),
  )
const FIND = find(sql`${projects.id} = ${sql.placeholder('id')}`)
const FIND_BY_NAME = find(
  sql`${projects.name} = ${sql.placeholder('name')} AND (${domains.id} = ${sql.placeholder('domainId')} OR ${domains.name} = ${sql.placeholder('domainName')})`,
)

interface Row {
  readonly id: string
  readonly name: string
  readonly description: string
  readonly parent_id: string | null
  readonly ancestors: string
  readonly enabled: number
  readonly immutable: number
  readonly tags: unknown
  readonly extra: unknown
  readonly is_active: number
  readonly domain_id: string
  readonly domain_name: string
}

export async function findProject(db: Executor, id: string): Promise<Project | undefined> {
  return projectOf(await db.rows<Row>(FIND, { id }))
}

/** The project of this name in a domain given by id or by name. */
export async function findProjectByName(
  db: Executor,
  name: string,
  domain: { readonly id?: string; readonly name?: string },
): Promise<Project | undefined> {
  const values = { name, domainId: domain.id ?? null, domainName: domain.name ?? null }
  return projectOf(await db.rows<Row>(FIND_BY_NAME, values))
}

function projectOf([row]: readonly Row[]): Project | undefined {
  if (row === undefined) return undefined
  return {
    id: row.id,
    name: row.name,
    description: row.description,
    parentId: row.parent_id,
    ancestors: idsOf(row.ancestors),
    enabled: row.enabled === 1,
    immutable: row.immutable === 1,
    tags: row.tags as readonly string[],
    extra: row.extra as Extra,
    isActive: row.is_active === 1,
    domain: { id: row.domain_id, name: row.domain_name },
  }
}

function idsOf(list: string): readonly string[] {
  return list === '' ? [] : list.split(',')
}

/** The project, locked until the transaction ends: it is neither changed nor deleted, and gets no children. */
export async function lockProject(tx: Tx, id: string): Promise<Project | undefined> {
  await lockRows(tx, projects, eq(projects.id, id))
  return findProject(tx, id)
}

/** Where roles hold: on projects themselves, in all of a domain, in all below a project. */
export interface ProjectReach {
  readonly ids: readonly string[]
  readonly domainIds: readonly string[]
  readonly ancestorIds: readonly string[]
}

export interface TagFilter {
  readonly all?: readonly string[] | undefined
  readonly any?: readonly string[] | undefined
  readonly notAll?: readonly string[] | undefined
  readonly none?: readonly string[] | undefined
}

export interface ProjectFilter extends ListFilter {
  /** Null: right below its domain. */
  readonly parentId?: string | null | undefined
  readonly below?: string | undefined
  readonly tags?: TagFilter | undefined
  readonly reach?: ProjectReach | undefined
}

/** The names of the projects that exist, by their ids. */
export async function projectNames(
  db: Executor,
  ids: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  if (ids.length === 0) return new Map()
  const rows = await db.orm
    .select({ id: projects.id, name: projects.name })
    .from(projects)
    .where(inArray(projects.id, [...new Set(ids)]))
  return new Map(rows.map(({ id, name }) => [id, name]))
}

/** Projects that fit every given filter, in the order of their ids. */
export async function listProjects(
  db: Executor,
  filter: ProjectFilter,
  limit: number,
): Promise<readonly Project[]> {
  if (filter.ids?.length === 0) return []
  const rows = await db.orm
    .select(COLUMNS)
    .from(projects)
    .innerJoin(domains, eq(domains.id, projects.domainId))
    .where(and(...listConditions(projects, filter), ...projectConditions(filter)))
    .orderBy(asc(projects.id))
    .limit(limit)
  return rows.map(({ domainId, domainName, ...row }) => ({
    ...row,
    ancestors: idsOf(row.ancestors),
    tags: row.tags as readonly string[],
    extra: row.extra as Extra,
    isActive: Number(row.isActive) === 1,
    domain: { id: domainId, name: domainName },
  }))
}

function projectConditions({ parentId, below, tags, reach }: ProjectFilter): (SQL | undefined)[] {
  return [
    parentId === undefined ? undefined : sql`${projects.parentId} <=> ${parentId}`,
    below === undefined ? undefined : isBelow(below),
    ...(tags === undefined ? [] : tagConditions(tags)),
    reach === undefined ? undefined : isWithin(reach),
  ]
}

function isBelow(ancestorId: string): SQL {
  return sql`FIND_IN_SET(${ancestorId}, ${projects.ancestors}) > 0`
}

function isWithin({ ids, domainIds, ancestorIds }: ProjectReach): SQL | undefined {
  const ways = [
    ids.length === 0 ? undefined : inArray(projects.id, [...ids]),
    domainIds.length === 0 ? undefined : inArray(projects.domainId, [...domainIds]),
    ...ancestorIds.map(isBelow),
  ].filter((way) => way !== undefined)
  return ways.length === 0 ? sql`FALSE` : or(...ways)
}

function tagConditions({ all, any, notAll, none }: TagFilter): (SQL | undefined)[] {
  const has = (tag: string) => sql`JSON_CONTAINS(${projects.tags}, JSON_QUOTE(${tag}))`
  const hasAll = (tags: readonly string[]) => sql`(${sql.join(tags.map(has), sql` AND `)})`
  const hasAny = (tags: readonly string[]) => sql`(${sql.join(tags.map(has), sql` OR `)})`
  return [
    all === undefined ? undefined : hasAll(all),
    any === undefined ? undefined : hasAny(any),
    notAll === undefined ? undefined : sql`NOT ${hasAll(notAll)}`,
    none === undefined ? undefined : sql`NOT ${hasAny(none)}`,
  ]
}

/** Throws `conflict` for a name the domain has. */
export async function insertProject(db: Executor, project: Project, at: Date): Promise<void> {
  const { domain, isActive: _, ...values } = project
  const insert = db.orm.insert(projects).values({
    ...values,
    ancestors: project.ancestors.join(','),
    domainId: domain.id,
    createdAt: at,
  })
  await orNameTaken('projects_name', 'project', project.name, insert)
}

/** Changes the variable properties of a project. Throws `conflict` for a name that the domain has. */
export async function updateProject(tx: Tx, project: Project): Promise<void> {
  const { id, name, description, enabled, immutable, tags, extra } = project
  const update = tx.orm
    .update(projects)
    .set({ name, description, enabled, immutable, tags, extra })
    .where(eq(projects.id, id))
  await orNameTaken('projects_name', 'project', name, update)
}

export interface NewProject {
  readonly id: string
  readonly domainId: string
  readonly name: string
  readonly description: string
}

/** Afterwards the domain has a project of this name; one that exists is left as it is. */
export async function ensureProject(db: Executor, project: NewProject): Promise<void> {
  await db.orm
    .insert(projects)
    .ignore()
    .values({
      ...project,
      parentId: null,
      ancestors: '',
      enabled: true,
      immutable: false,
      tags: [],
      extra: {},
      createdAt: new Date(),
    })
}
