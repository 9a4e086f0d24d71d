import type { operations } from '#openapi/identity.gen.ts'
import { allProjects } from '../../../app/identity/projects.ts'
import type { Answer, Call } from '../../../http/operation.ts'
import { projectView } from '../../../views/identity/project.ts'
import { listBody } from '../list-body.ts'
import { listQuery } from '../list-query.ts'

type Op = operations['listProjects']

/** GET /v3/projects */
export async function listProjects(call: Call<Op>): Promise<Answer<Op>> {
  const { app, context, query, links } = call
  const found = await allProjects(app.identity, context, {
    ...listQuery(query),
    parentId: query.parent_id,
    isDomain: query.is_domain,
    tags: {
      all: tagsOf(query.tags),
      any: tagsOf(query['tags-any']),
      notAll: tagsOf(query['not-tags']),
      none: tagsOf(query['not-tags-any']),
    },
  })
  return { body: listBody(call, 'projects', found, (it) => projectView(it, links)) }
}

function tagsOf(list: string | undefined): readonly string[] | undefined {
  return list === undefined || list === '' ? undefined : list.split(',')
}
