import { and, asc, eq, inArray, type SQL, sql } from 'drizzle-orm'
import type { Executor } from '#common/db/database.ts'
import { builder, statement } from '#common/db/statement.ts'
import type { NameFilter, Project } from '../../app/identity/model.ts'
import { domains, projects } from '../schema/identity.ts'

const COLUMNS = {
  id: projects.id,
  name: projects.name,
  description: projects.description,
  enabled: sql<number>`${projects.enabled} AND ${domains.enabled}`.as('is_enabled'),
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
  readonly is_enabled: number
  readonly domain_id: string
  readonly domain_name: string
}

/** A project of a disabled domain is disabled. */
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
    enabled: row.is_enabled === 1,
    domain: { id: row.domain_id, name: row.domain_name },
  }
}

export interface ProjectFilter extends NameFilter {
  readonly ids?: readonly string[]
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
    .where(
      and(
        filter.name === undefined ? undefined : eq(projects.name, filter.name),
        filter.domainId === undefined ? undefined : eq(projects.domainId, filter.domainId),
        filter.enabled === undefined ? undefined : eq(projects.enabled, filter.enabled),
        filter.ids === undefined ? undefined : inArray(projects.id, [...filter.ids]),
      ),
    )
    .orderBy(asc(projects.id))
    .limit(limit)
  return rows.map(({ domainId, domainName, enabled, ...row }) => ({
    ...row,
    enabled: Number(enabled) === 1,
    domain: { id: domainId, name: domainName },
  }))
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
    .values({ ...project, enabled: true, createdAt: new Date() })
}
