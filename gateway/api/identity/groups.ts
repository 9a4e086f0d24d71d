import type { Group as GroupBody, operations } from '#openapi/identity.gen.ts'
import {
  addMember,
  allGroups,
  changeGroup,
  groupsOfUser,
  createGroup as makeGroup,
  oneGroup,
  removeGroup,
  removeMember,
  requireMember,
  usersInGroup,
} from '../../app/identity/groups.ts'
import type { Group } from '../../app/identity/model.ts'
import type { Links } from '../../http/links.ts'
import type { Answer, Call } from '../../http/operation.ts'
import { userView } from '../../views/identity/user.ts'
import { listBody } from './list-body.ts'
import { listQuery } from './list-query.ts'

/** PUT /v3/groups/{group_id}/users/{user_id} */
export async function addGroupUser({
  app,
  context,
  params,
}: Call<operations['addGroupUser']>): Promise<Answer<operations['addGroupUser']>> {
  await addMember(app.identity, context, params.group_id, params.user_id)
  return {}
}

/** GET /v3/groups/{group_id}/users/{user_id}, and HEAD */
export async function checkGroupUser({
  app,
  context,
  params,
}: Call<operations['checkGroupUser']>): Promise<Answer<operations['checkGroupUser']>> {
  await requireMember(app.identity, context, params.group_id, params.user_id)
  return {}
}

/** POST /v3/groups */
export async function createGroup(
  call: Call<operations['createGroup']>,
): Promise<Answer<operations['createGroup']>> {
  const { app, context, body, links } = call
  const { name, description, domain_id: domainId, ...extra } = body.group
  const fields = { name, description: description ?? '', domainId, extra }
  const group = await makeGroup(app.identity, context, fields)
  return { body: { group: groupView(group, links) } }
}

/** DELETE /v3/groups/{group_id} */
export async function deleteGroup({
  app,
  context,
  params,
}: Call<operations['deleteGroup']>): Promise<Answer<operations['deleteGroup']>> {
  await removeGroup(app.identity, context, params.group_id)
  return {}
}

/** GET /v3/groups/{group_id}/users */
export async function listGroupUsers(
  call: Call<operations['listGroupUsers']>,
): Promise<Answer<operations['listGroupUsers']>> {
  const { app, context, params, query, links } = call
  const found = await usersInGroup(app.identity, context, params.group_id, listQuery(query))
  return { body: listBody(call, 'users', found, (it) => userView(it, links)) }
}

/** GET /v3/groups */
export async function listGroups(
  call: Call<operations['listGroups']>,
): Promise<Answer<operations['listGroups']>> {
  const { app, context, query, links } = call
  const found = await allGroups(app.identity, context, listQuery(query))
  return { body: listBody(call, 'groups', found, (it) => groupView(it, links)) }
}

/** GET /v3/users/{user_id}/groups */
export async function listUserGroups(
  call: Call<operations['listUserGroups']>,
): Promise<Answer<operations['listUserGroups']>> {
  const { app, context, params, query, links } = call
  const found = await groupsOfUser(app.identity, context, params.user_id, listQuery(query))
  return { body: listBody(call, 'groups', found, (it) => groupView(it, links)) }
}

/** DELETE /v3/groups/{group_id}/users/{user_id} */
export async function removeGroupUser({
  app,
  context,
  params,
}: Call<operations['removeGroupUser']>): Promise<Answer<operations['removeGroupUser']>> {
  await removeMember(app.identity, context, params.group_id, params.user_id)
  return {}
}

/** GET /v3/groups/{group_id} */
export async function showGroup(
  call: Call<operations['showGroup']>,
): Promise<Answer<operations['showGroup']>> {
  const { app, context, params, links } = call
  const found = await oneGroup(app.identity, context, params.group_id)
  return { body: { group: groupView(found, links) } }
}

/** PATCH /v3/groups/{group_id} */
export async function updateGroup(
  call: Call<operations['updateGroup']>,
): Promise<Answer<operations['updateGroup']>> {
  const { app, context, params, body, links } = call
  const { name, description, domain_id: domainId, ...extra } = body.group
  const group = await changeGroup(app.identity, context, params.group_id, {
    ...(name !== undefined && { name }),
    ...(description !== undefined && { description: description ?? '' }),
    domainId,
    extra,
  })
  return { body: { group: groupView(group, links) } }
}

function groupView({ id, name, description, domain, extra }: Group, links: Links): GroupBody {
  const self = links.to(`/identity/v3/groups/${id}`)
  return { ...extra, id, name, domain_id: domain.id, description, links: { self } }
}
