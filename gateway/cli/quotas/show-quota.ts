import { Failure, isFailure } from '#common/errors.ts'
import type { components, operations } from '#openapi/federation.gen.ts'
import type { AnswerOf } from '../cloud/service-client.ts'
import type { Session } from '../cloud/session.ts'
import type { Operator } from '../operator.ts'
import { present, type ViewOptions } from '../output/present.ts'
import type { Emphasis } from '../output/style.ts'
import { fieldsView, type Listing, listView, viewWithParts } from '../output/view.ts'

type ResourceQuota = components['schemas']['ResourceQuota']
type ProjectQuota = AnswerOf<operations['showProjectQuota']>

const PROJECT: Listing<ProjectQuota> = {
  plural: 'projects',
  nameOf: (quota) => quota.project ?? quota.project_id,
  columns: [
    { head: 'PROJECT', of: ({ project }) => project },
    { head: 'ID', of: ({ project_id }) => project_id },
  ],
}

const RESOURCES: Listing<ResourceQuota> = {
  plural: 'quotas',
  nameOf: ({ resource }) => resource,
  columns: [
    { head: 'RESOURCE', of: ({ resource }) => resource },
    { head: 'USED', of: ({ used }) => used },
    { head: 'LIMIT', of: ({ limit }) => limit ?? 'no limit' },
    { head: 'LEFT', of: ({ left }) => left, emphasis: leftEmphasis },
    { head: 'UNIT', of: ({ unit }) => unit },
    { head: 'SERVICE', of: ({ service }) => service, isWide: true },
  ],
}

/** Shows what a project, given by its id or name, uses and has left of each quota. */
export async function showQuota(
  operator: Operator,
  project: string,
  options: ViewOptions,
): Promise<void> {
  await present(operator, options, async (session) => {
    const quota = await quotaOf(session, project)
    const resources = { heading: 'QUOTAS', view: listView(quota.resources, RESOURCES) }
    return viewWithParts(fieldsView(quota, PROJECT), [resources], quota)
  })
}

/** Throws `not-found`, and says where projects are listed. */
async function quotaOf({ federation }: Session, project: string): Promise<ProjectQuota> {
  try {
    return await federation.ask('get', '/v1/projects/{project}/quota', { path: { project } })
  } catch (error) {
    if (!isFailure(error, 'not-found')) throw error
    throw new Failure('not-found', `${error.message} See: openstack project list`)
  }
}

function leftEmphasis({ left }: ResourceQuota): Emphasis | undefined {
  return left === 0 ? 'error' : undefined
}
