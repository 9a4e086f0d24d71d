import type { Executor } from '#common/db/database.ts'
import type { InstanceBuild } from '#openapi/wire/instance.ts'
import { serversOfProject } from '../../../db/known-servers.ts'
import type { Requester } from '../../requester.ts'
import type { SchedulerHints } from './requested-properties.ts'
import type { ServerRequest } from './server-request.ts'

/** Nova's own prefix, which users cannot use. */
const RESERVED = '_nova'

/** The hints as Nova keeps and shows them: every value is text, in a list. */
export function keptHints(asked: Readonly<Record<string, unknown>>): SchedulerHints {
  const kept = Object.entries(asked).filter(([name]) => !name.startsWith(RESERVED))
  return Object.fromEntries(
    kept.map(([name, value]) => [name, (Array.isArray(value) ? value : [value]).map(textOf)]),
  )
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

type NeighbourHints = Pick<InstanceBuild, 'sameHost' | 'differentHost'>

/**
 * The servers that the hints name as neighbours, wanted or unwanted; an empty hint has no effect, as in Nova. Servers
 * of other projects count as missing: otherwise any user could place a server beside one of another project, and learn
 * where that is.
 */
export async function neighbourHints(
  db: Executor,
  requester: Pick<Requester, 'isAdmin' | 'projectId'>,
  { same_host, different_host }: ServerRequest['hints'],
): Promise<NeighbourHints> {
  const [same, different] = [serverIds(same_host), serverIds(different_host)]
  const seen = await serversOfProject(
    db,
    requester.isAdmin ? undefined : (requester.projectId ?? ''),
    [...same, ...different],
  )
  return {
    ...(same.length > 0 && { sameHost: same.filter((id) => seen.has(id)) }),
    ...(different.length > 0 && { differentHost: different.filter((id) => seen.has(id)) }),
  }
}

function serverIds(hint: unknown): string[] {
  return [hint].flat().filter((id): id is string => typeof id === 'string' && id !== '')
}
